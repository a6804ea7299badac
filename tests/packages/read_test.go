// Reads every vector of an installed module; a string's units survive.
package read

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf16"

	"github.com/OWNER/dotnet-diagnostics-ipc/vectors"
)

type file struct {
	Files  []struct{ Name string }
	Groups []struct {
		Type  string
		Tests []struct {
			TcId      int
			Wire      string
			Canonical bool
			Value     interface{}
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

func TestVectors(t *testing.T) {
	tried := 0
	for _, named := range read(t, "index.json").Files {
		for _, group := range read(t, named.Name).Groups {
			for _, test := range group.Tests {
				tried++
				wire, err := hex.DecodeString(test.Wire)
				text, isText := test.Value.(string)
				units := []uint16{}
				for i := 4; isText && group.Type == "string" && i+2 < len(wire); i += 2 {
					units = append(units, binary.LittleEndian.Uint16(wire[i:]))
				}
				if err != nil || len(units) > 0 && test.Canonical && string(utf16.Decode(units)) != text {
					t.Errorf("%d: %v %v", test.TcId, err, units)
				}
			}
		}
	}
	fmt.Println(tried, "tests")
}
