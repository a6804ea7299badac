// A codec of strings, and of a header with two of them, run over the vectors of an installed module.
package codec

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"unicode/utf16"

	"github.com/OWNER/dotnet-diagnostics-ipc/vectors"
)

func readString(wire []byte) (value interface{}, rest []byte, ok bool) {
	if len(wire) < 4 {
		return nil, nil, false
	}
	count, wire := uint64(binary.LittleEndian.Uint32(wire)), wire[4:]
	if count == 0 {
		return nil, wire, true
	}
	if 2*count > uint64(len(wire)) || wire[2*count-2] != 0 || wire[2*count-1] != 0 {
		return nil, nil, false
	}
	units, numbers := make([]uint16, count-1), make([]interface{}, count-1)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(wire[2*i:])
		numbers[i] = float64(units[i])
	}
	text := string(utf16.Decode(units))
	if !reflect.DeepEqual(utf16.Encode([]rune(text)), units) {
		return map[string]interface{}{"utf16": numbers}, wire[2*count:], true
	}
	return text, wire[2*count:], true
}

func decode(kind string, wire []byte) (interface{}, bool) {
	if kind == "string" {
		value, _, ok := readString(wire)
		return value, ok
	}
	if len(wire) < 20 || string(wire[:14]) != "DOTNET_IPC_V1\x00" || int(binary.LittleEndian.Uint16(wire[14:])) != len(wire) || string(wire[16:18]) != "\x04\x03" {
		return nil, false
	}
	name, rest, ok := readString(wire[20:])
	value, _, valueOk := readString(rest)
	return map[string]interface{}{"name": name, "value": value}, ok && valueOk
}

type file struct {
	Files  []struct{ Name string }
	Groups []struct {
		Type, Command string
		Tests         []struct {
			TcId         int
			Wire, Result string
			Value        interface{}
			Error        struct{ Layer string }
		}
	}
}

func read(t *testing.T, name string) (read file) {
	text, err := vectors.Files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return
}

func TestCodec(t *testing.T) {
	tried := 0
	for _, named := range read(t, "index.json").Files {
		for _, group := range read(t, named.Name).Groups {
			if group.Type != "string" && (group.Type != "request" || group.Command != "Process/SetEnvironmentVariable") {
				continue
			}
			for _, test := range group.Tests {
				wire, _ := hex.DecodeString(test.Wire)
				value, ok := decode(group.Type, wire)
				if ok != (test.Result != "invalid" || test.Error.Layer == "limits") || ok && !reflect.DeepEqual(value, test.Value) {
					t.Errorf("%d: %v %v", test.TcId, ok, value)
				}
				tried++
			}
		}
	}
	fmt.Println(tried, "tests")
}
