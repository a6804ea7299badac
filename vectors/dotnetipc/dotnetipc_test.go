package dotnetipc_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/OWNER/dotnet-diagnostics-ipc/vectors"
	ipc "github.com/OWNER/dotnet-diagnostics-ipc/vectors/dotnetipc"
)

// Each byte is written out; spaces separate the fields.
var requests = []struct {
	wire    string
	request ipc.Request
}{
	{"444f544e45545f4950435f563100 1c00 02 01 0000 0807060504030201", &ipc.StopTracing{SessionID: 0x0102030405060708}},
	{"444f544e45545f4950435f563100 1400 04 04 0000", &ipc.ProcessInfo2{}},
	// An absent value deletes the variable; an empty one does not.
	{"444f544e45545f4950435f563100 2000 04 03 0000 02000000 4100 0000 00000000", &ipc.SetEnvironmentVariable{Name: ipc.Text("A")}},
	{"444f544e45545f4950435f563100 2200 04 03 0000 02000000 4100 0000 01000000 0000",
		&ipc.SetEnvironmentVariable{Name: ipc.Text("A"), Value: ipc.Text("")}},
	// Half of a surrogate pair, which UTF-8 lacks.
	{"444f544e45545f4950435f563100 2200 04 03 0000 02000000 00d8 0000 01000000 0000",
		&ipc.SetEnvironmentVariable{Name: ipc.String{0xD800}, Value: ipc.Text("")}},
	{"444f544e45545f4950435f563100 3900 02 03 0000 00010000 01000000 01 01000000 0100000000000000 04000000 02000000 5000 0000 00000000",
		&ipc.CollectTracing2{CircularBufferMB: 256, Format: ipc.FormatNetTrace, RequestRundown: true, Providers: []ipc.ProviderConfig{
			{Keywords: 1, LogLevel: ipc.LogLevelInformational, ProviderName: ipc.Text("P")},
		}}},
	{"444f544e45545f4950435f563100 5100 02 06 0000 01000000 0200000000000000 01000000 0100000000000000 05000000 02000000 5000 0000 00000000" +
		" 01 01000000 07000000 02000000 5400 0000 00000000",
		&ipc.CollectTracing5UserEvents{RundownKeyword: 2, Providers: []ipc.UserEventsProviderConfig{{
			Keywords: 1, LogLevel: ipc.LogLevelVerbose, ProviderName: ipc.Text("P"), Filter: ipc.EventFilter{Enable: true, EventIDs: []uint32{7}},
			Config: ipc.TracepointConfig{DefaultTracepointName: ipc.Text("T")},
		}}}},
}

func bytesOf(t *testing.T, digits string) []byte {
	wire, err := hex.DecodeString(strings.Replace(digits, " ", "", -1))
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestRequestIsWrittenAndReadAsItsBytes(t *testing.T) {
	for _, one := range requests {
		wire := bytesOf(t, one.wire)
		if written, err := ipc.Append([]byte("front"), one.request); err != nil || string(written) != "front"+string(wire) {
			t.Errorf("%T: %v\n%x\n%x", one.request, err, written, wire)
		}
		if read, err := ipc.DecodeRequest(wire); err != nil || !reflect.DeepEqual(read, one.request) {
			t.Errorf("%T: %v\n%+v\n%+v", one.request, err, read, one.request)
		}
	}
}

func TestReplyIsReadAsWhatItsRequestExpects(t *testing.T) {
	session := "444f544e45545f4950435f563100 1c00 ff 00 0000 0700000000000000"
	for _, one := range []struct {
		wire    string
		request ipc.Request
		reply   ipc.Message
	}{
		{session, &ipc.CollectTracing2{}, &ipc.SessionReply{SessionID: 7}},
		{session, &ipc.ResumeRuntime{}, &ipc.ResultReply{HResult: 7}},
		{"444f544e45545f4950435f563100 1400 ff 00 0000", &ipc.CollectTracing2{}, &ipc.GenericOK{}},
		{"444f544e45545f4950435f563100 1800 ff ff 0000 85131380", &ipc.ProcessInfo3{}, &ipc.ErrorReply{HResult: ipc.DS_IPC_E_UNKNOWN_COMMAND}},
	} {
		reply, err := ipc.DecodeReply(one.request, bytesOf(t, one.wire))
		if err != nil || !reflect.DeepEqual(reply, one.reply) {
			t.Errorf("%T: %v %+v", one.request, err, reply)
		}
	}
	text := (&ipc.ErrorReply{HResult: ipc.DS_IPC_E_UNKNOWN_COMMAND}).Error()
	if text != "dotnetipc: refused: 0x80131385 DS_IPC_E_UNKNOWN_COMMAND" {
		t.Error(text)
	}
}

func TestErrorHasOffsetPathAndAnswer(t *testing.T) {
	// The second provider's count of arguments is one too large.
	_, err := ipc.DecodeRequest(bytesOf(t, "444f544e45545f4950435f563100 5300 02 02 0000 01000000 01000000 02000000"+
		" 0100000000000000 04000000 02000000 5000 0000 00000000 0100000000000000 04000000 02000000 5000 0000 02000000 4100 00"))
	if err == nil || err.Error() != "dotnetipc: count_too_large at byte 76: CollectTracing.providers[1].arguments" {
		t.Error(err)
	}
	var refused *ipc.Error
	_, err = ipc.Append(nil, &ipc.GenerateCoreDump3{DumpType: 1})
	if !errors.As(err, &refused) || refused.Problem != ipc.AbsentName || refused.Layer() != "limits" || refused.Answer() != ipc.DS_IPC_E_INVALIDARG {
		t.Error(err)
	}
	if _, err = ipc.AppendUnchecked(nil, &ipc.GenerateCoreDump3{DumpType: 1}); err != nil {
		t.Error(err)
	}
}

func TestReadMessageLeavesWhatFollows(t *testing.T) {
	connection := strings.NewReader(string(bytesOf(t, "444f544e45545f4950435f563100 1c00 ff 00 0000 0700000000000000")) + "Nettrace")
	message, err := ipc.ReadMessage(connection)
	stream, _ := io.ReadAll(connection)
	if err != nil || len(message) != 28 || string(stream) != "Nettrace" {
		t.Errorf("%v %x %q", err, message, stream)
	}
}

// decode returns the error of bytes of a type of the vectors, and false if the type is another one.
func decode(kind, command string, wire []byte) (err error, ok bool) {
	switch kind {
	case "request":
		request, err := ipc.DecodeRequest(wire)
		if err == nil {
			err = ipc.CheckLimits(request)
		}
		return err, true
	case "reply", "error":
		_, err = ipc.DecodeReply(requestsByName[command], wire)
	case "advertise":
		_, err = ipc.DecodeAdvertise(wire)
	case "environment":
		_, err = ipc.DecodeEnvironment(wire)
	case "user_reg":
		_, err = ipc.DecodeUserReg(wire)
	case "user_unreg":
		_, err = ipc.DecodeUserUnreg(wire)
	case "user_events-record":
		_, err = ipc.DecodeRecord(wire)
	case "extension":
		_, err = ipc.DecodeExtension(wire)
	case "ports-strict":
		_, err = ipc.ParsePortsStrict(string(wire))
	case "socket-name":
		_, err = ipc.ParseSocketName(string(wire))
	case "pipe-name":
		_, err = ipc.ParsePipeName(string(wire))
	case "process-stat":
		_, err = ipc.ParseProcessStat(wire)
	default:
		return nil, false
	}
	return err, true
}

var requestsByName = map[string]ipc.Request{"": &ipc.UnknownRequest{}}

func init() {
	for code := 0x0100; code < 0x0500; code++ {
		header := "DOTNET_IPC_V1\x00\x18\x00" + string([]byte{byte(code >> 8), byte(code), 0, 0, 0, 0, 0, 0})
		request, _ := ipc.DecodeRequest([]byte(header))
		requestsByName[request.Code().String()] = request
	}
}

type expected struct {
	Kind   ipc.Problem
	Offset int
	Field  string
}

// eachVector calls a function with the bytes of each vector, and its error if it has one.
func eachVector(t *testing.T, try func(number int, kind, command string, wire []byte, expected *expected)) {
	type file struct {
		Files  []struct{ Name string }
		Groups []struct {
			Type, Command string
			Tests         []struct {
				TcID  int
				Wire  *string
				Error *expected
			}
		}
	}
	read := func(name string) (read file) {
		text, err := vectors.Files.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &read)
		}
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	for _, named := range read("index.json").Files {
		for _, group := range read(named.Name).Groups {
			for _, test := range group.Tests {
				if test.Wire != nil {
					try(test.TcID, group.Type, group.Command, bytesOf(t, *test.Wire), test.Error)
				}
			}
		}
	}
}

// The codec suite compares values and layers; here are the problem, the offset and the path.
func TestMalformedVectorHasItsErrorAtItsOffset(t *testing.T) {
	compared := 0
	eachVector(t, func(number int, kind, command string, wire []byte, expected *expected) {
		err, ok := decode(kind, command, wire)
		if expected == nil || !ok {
			return
		}
		compared++
		var found *ipc.Error
		if !errors.As(err, &found) || *found != (ipc.Error{Problem: expected.Kind, Offset: expected.Offset, Path: expected.Field}) {
			t.Errorf("%d: %v, expected %v", number, err, *expected)
		}
	})
	if compared < 400 {
		t.Errorf("only %d errors were compared", compared)
	}
}

func TestDamagedVectorDoesNotPanic(t *testing.T) {
	eachVector(t, func(number int, kind, command string, wire []byte, _ *expected) {
		for i := 0; i < len(wire) && len(wire) < 300; i++ {
			decode(kind, command, wire[:i])
			wire[i] ^= 0xFF
			decode(kind, command, wire)
			wire[i] ^= 0xFF
		}
	})
}
