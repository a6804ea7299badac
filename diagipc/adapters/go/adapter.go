// The codec of vectors/dotnetipc with the line protocol of diagipc/adapters/README.md.
//
//	(cd vectors && go build -o /tmp/adapter ../diagipc/adapters/go/adapter.go) && diagipc codec -- /tmp/adapter
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"

	ipc "github.com/OWNER/dotnet-diagnostics-ipc/vectors/dotnetipc"
)

type object = map[string]interface{}

type question struct {
	ID                      json.Number
	Op, Type, Command, Wire string
	Value                   interface{}
}

var errUnsupported = errors.New("the package does not have this")

// All requests of the document.
var requests = []ipc.Request{
	&ipc.GenerateCoreDump{}, &ipc.GenerateCoreDump2{}, &ipc.GenerateCoreDump3{}, &ipc.StopTracing{}, &ipc.CollectTracing{},
	&ipc.CollectTracing2{}, &ipc.CollectTracing3{}, &ipc.CollectTracing4{}, &ipc.CollectTracing5Streaming{},
	&ipc.CollectTracing5UserEvents{}, &ipc.CollectTracing6Streaming{}, &ipc.CollectTracing6UserEvents{}, &ipc.AttachProfiler{},
	&ipc.StartupProfiler{}, &ipc.ProcessInfo{}, &ipc.ResumeRuntime{}, &ipc.ProcessEnvironment{}, &ipc.SetEnvironmentVariable{},
	&ipc.ProcessInfo2{}, &ipc.EnablePerfMap{}, &ipc.DisablePerfMap{}, &ipc.ApplyStartupHook{}, &ipc.ProcessInfo3{},
}

// pieces creates a piece by the name of its type.
var pieces = map[string]interface{}{
	"byte": uint8(0), "ushort": uint16(0), "wchar": uint16(0), "uint": uint32(0), "ulong": uint64(0), "bool": false,
	"hresult": ipc.HResult(0), "string": ipc.String(nil), "guid": ipc.GUID{}, "clsid": ipc.GUID{}, "array<byte>": []byte(nil),
	"array<wchar>": []uint16(nil), "array<uint>": []uint32(nil), "array<string>": []ipc.String(nil),
	"event_filter": ipc.EventFilter{}, "tracepoint_set": ipc.TracepointSet{}, "tracepoint_config": ipc.TracepointConfig{},
	"provider_config": ipc.ProviderConfig{}, "streaming_provider_config": ipc.StreamingProviderConfig{},
	"user_events_provider_config": ipc.UserEventsProviderConfig{},
}

// requestOf returns an empty request of a command; if it has two session types, the value decides.
func requestOf(command string, value interface{}) ipc.Request {
	fields, _ := value.(object)
	for _, request := range requests {
		typed, ok := request.(interface{ SessionType() uint32 })
		if request.Code().String() == command && (!ok || fields == nil || fmt.Sprint(fields["session_type"]) == fmt.Sprint(typed.SessionType())) {
			return reflect.New(reflect.TypeOf(request).Elem()).Interface().(ipc.Request)
		}
	}
	return &ipc.UnknownRequest{}
}

// jsonOf returns the JSON form of a pointer's target.
func jsonOf(pointer interface{}) interface{} {
	if v := reflect.ValueOf(pointer); v.IsValid() && !v.IsNil() {
		return toJSON(v.Elem())
	}
	return nil
}

// decode returns the value of the bytes, even if a server would refuse it.
func decode(q question) (interface{}, error) {
	wire, _ := hex.DecodeString(q.Wire)
	text := string(wire)
	switch q.Type {
	case "request", "unknown":
		request, err := ipc.DecodeRequest(wire)
		if err != nil {
			return nil, err
		}
		value := jsonOf(request).(object)
		if typed, ok := request.(interface{ SessionType() uint32 }); ok {
			value["session_type"] = typed.SessionType()
		}
		unknown, isUnknown := request.(*ipc.UnknownRequest)
		if isUnknown {
			value["code"] = fmt.Sprintf("0x%04X", uint16(unknown.Command))
		}
		if isUnknown != (q.Type == "unknown") || !isUnknown && request.Code().String() != q.Command {
			return nil, &ipc.Error{Problem: ipc.UnexpectedCommand}
		}
		return value, ipc.CheckLimits(request)
	case "reply", "error":
		reply, err := ipc.DecodeReply(requestOf(q.Command, nil), wire)
		if _, isError := reply.(*ipc.ErrorReply); err == nil && isError != (q.Type == "error") {
			err = &ipc.Error{Problem: ipc.NotAReply}
		}
		return jsonOf(reply), err
	case "advertise":
		advertise, err := ipc.DecodeAdvertise(wire)
		return jsonOf(advertise), err
	case "environment":
		variables, err := ipc.DecodeEnvironment(wire)
		value := []object{}
		for _, one := range variables {
			entry := object{"name": jsonOf(&one.Name), "value": jsonOf(&one.Value)}
			if one.Unterminated {
				entry["terminated"] = false
			}
			value = append(value, entry)
		}
		return value, err
	case "stream-start":
		start, size := ipc.DecodeStreamStart(wire)
		value := object{"start": start.Format, "rest": hex.EncodeToString(wire[size:])}
		if start.Format == "nettrace-blocks" {
			value["major"], value["minor"] = start.Major, start.Minor
		}
		return value, nil
	case "ports":
		ports, ignored, err := ipc.ParsePorts(text)
		return object{"ports": portsToJSON(ports), "ignored": jsonOf(&ignored)}, err
	case "ports-strict":
		ports, err := ipc.ParsePortsStrict(text)
		return object{"ports": portsToJSON(ports)}, err
	case "default-port-suspend":
		return ipc.DefaultPortSuspends(text)
	case "socket-name":
		name, err := ipc.ParseSocketName(text)
		return jsonOf(&name), err
	case "pipe-name":
		name, err := ipc.ParsePipeName(text)
		return jsonOf(&name), err
	case "process-stat":
		stat, err := ipc.ParseProcessStat(wire)
		return jsonOf(&stat), err
	case "user_reg":
		reg, err := ipc.DecodeUserReg(wire)
		return jsonOf(&reg), err
	case "user_unreg":
		unreg, err := ipc.DecodeUserUnreg(wire)
		return jsonOf(&unreg), err
	case "tracepoint-command":
		name, err := ipc.ParseTracepointCommand(text)
		return object{"tracepoint_name": name}, err
	case "user_events-record":
		record, err := ipc.DecodeRecord(wire)
		if record.Version != 1 {
			return some(jsonOf(&record), "write_index", "version", "rest"), err
		}
		return some(jsonOf(&record), "write_index", "version", "event_id", "extension", "payload"), err
	case "extension":
		items, err := ipc.DecodeExtension(wire)
		value := []object{}
		for _, item := range items {
			names := map[uint8]string{1: "metadata", 2: "guid", 3: "guid"}
			if names[item.Label] == "" {
				names[item.Label] = "rest"
			}
			value = append(value, some(jsonOf(&item), "label", names[item.Label]))
		}
		return value, err
	}
	piece, ok := pieces[q.Type]
	if !ok {
		return nil, errUnsupported
	}
	pointer := reflect.New(reflect.TypeOf(piece))
	_, err := ipc.DecodePiece(wire, pointer.Interface())
	return toJSON(pointer.Elem()), err
}

// some returns these keys of an object.
func some(value interface{}, keys ...string) object {
	kept := object{}
	for _, key := range keys {
		kept[key] = value.(object)[key]
	}
	return kept
}

func portsToJSON(ports []ipc.Port) []object {
	value := []object{}
	for _, port := range ports {
		value = append(value, object{"address": port.Address, "suspend": !port.NoSuspend, "type": "connect"})
	}
	return value
}

func encode(q question) ([]byte, error) {
	fields, _ := q.Value.(object)
	list, _ := q.Value.([]interface{})
	var m ipc.Message
	switch q.Type {
	case "request", "unknown":
		m = requestOf(q.Command, q.Value)
		if code, ok := fields["code"].(string); ok {
			number, _ := strconv.ParseUint(code, 0, 16)
			m = &ipc.UnknownRequest{Command: ipc.Code(number)}
		}
	case "reply":
		if m = requestOf(q.Command, nil).NewReply(); len(fields) == 0 {
			m = &ipc.GenericOK{}
		}
	case "error":
		m = &ipc.ErrorReply{}
	case "advertise":
		advertise := &ipc.Advertise{}
		set(advertise, q.Value)
		return ipc.AppendAdvertise(nil, advertise), nil
	case "environment":
		variables := make([]ipc.Variable, len(list))
		for i, entry := range list {
			_, variables[i].Unterminated = entry.(object)["terminated"]
			set(&variables[i].Name, entry.(object)["name"])
			set(&variables[i].Value, entry.(object)["value"])
		}
		return ipc.AppendEnvironment(nil, variables)
	case "stream-start":
		start, rest := ipc.StreamStart{Format: fields["start"].(string)}, []byte{}
		set(&start, q.Value)
		set(&rest, fields["rest"])
		return append(ipc.AppendStreamStart(nil, start), rest...), nil
	case "ports", "ports-strict":
		var ports []ipc.Port
		for _, port := range fields["ports"].([]interface{}) {
			ports = append(ports, ipc.Port{Address: port.(object)["address"].(string), NoSuspend: port.(object)["suspend"] == false})
		}
		text, err := ipc.FormatPorts(ports)
		return []byte(text), err
	case "default-port-suspend":
		return []byte(map[bool]string{true: "1", false: "0"}[q.Value.(bool)]), nil
	case "socket-name":
		var name ipc.SocketName
		set(&name, q.Value)
		return []byte(name.String()), nil
	case "pipe-name":
		var name ipc.PipeName
		set(&name, q.Value)
		return []byte(name.String()), nil
	case "process-stat":
		var stat ipc.ProcessStat
		set(&stat, q.Value)
		return []byte(stat.String()), nil
	case "user_reg":
		var reg ipc.UserReg
		set(&reg, q.Value)
		return ipc.AppendUserReg(nil, reg)
	case "user_unreg":
		var unreg ipc.UserUnreg
		set(&unreg, q.Value)
		return ipc.AppendUserUnreg(nil, unreg)
	case "tracepoint-command":
		var name ipc.String
		set(&name, fields["tracepoint_name"])
		if !isUnicode(name) {
			return nil, &ipc.Error{Problem: ipc.ForbiddenUnit}
		}
		text, err := ipc.FormatTracepointCommand(name.String())
		return []byte(text), err
	case "user_events-record":
		var record ipc.Record
		set(&record, q.Value)
		return ipc.AppendRecord(nil, record)
	case "extension":
		items := make([]ipc.ExtensionItem, len(list))
		for i, item := range list {
			set(&items[i], item)
		}
		return ipc.AppendExtension(nil, items)
	default:
		piece, ok := pieces[q.Type]
		if !ok {
			return nil, errUnsupported
		}
		pointer := reflect.New(reflect.TypeOf(piece))
		fromJSON(pointer.Elem(), q.Value)
		return ipc.AppendPiece(nil, pointer.Interface())
	}
	set(m, q.Value)
	return ipc.AppendUnchecked(nil, m)
}

func set(pointer, value interface{}) { fromJSON(reflect.ValueOf(pointer).Elem(), value) }

func isUnicode(text ipc.String) bool {
	return len(text) == 0 || reflect.DeepEqual(ipc.Text(text.String()), text)
}

// toJSON returns a value in the form that vectors/README.md defines.
func toJSON(v reflect.Value) interface{} {
	switch value := v.Interface().(type) {
	case ipc.String:
		if value == nil {
			return nil
		}
		if isUnicode(value) {
			return value.String()
		}
		return object{"utf16": []uint16(value)}
	case ipc.GUID:
		return value.String()
	case ipc.HResult:
		return fmt.Sprintf("0x%08X", uint32(value))
	case ipc.Rest:
		return hex.EncodeToString(value)
	case []byte:
		return hex.EncodeToString(value)
	case uint64:
		return strconv.FormatUint(value, 10)
	}
	switch v.Kind() {
	case reflect.Ptr:
		return toJSON(v.Elem())
	case reflect.Slice:
		list := []interface{}{}
		for i := 0; i < v.Len(); i++ {
			list = append(list, toJSON(v.Index(i)))
		}
		return list
	case reflect.Struct:
		fields := object{}
		for i := 0; i < v.NumField(); i++ {
			name, isLast := v.Type().Field(i).Tag.Get("ipc"), v.Field(i).Kind() == reflect.Ptr || v.Type().Field(i).Name == "Tail"
			if name != "-" && !(isLast && v.Field(i).IsNil()) {
				fields[name] = toJSON(v.Field(i))
			}
		}
		return fields
	}
	return v.Interface()
}

// fromJSON sets a value from that form.
func fromJSON(v reflect.Value, from interface{}) {
	switch to := v.Addr().Interface().(type) {
	case *ipc.String:
		if text, ok := from.(string); ok {
			*to = ipc.Text(text)
		} else if fields, ok := from.(object); ok {
			*to = ipc.String{}
			for _, unit := range fields["utf16"].([]interface{}) {
				number, _ := unit.(json.Number).Int64()
				*to = append(*to, uint16(number))
			}
		}
		return
	case *ipc.GUID:
		*to, _ = ipc.ParseGUID(from.(string))
		return
	case *ipc.Rest:
		*to, _ = hex.DecodeString(from.(string))
		return
	case *[]byte:
		*to, _ = hex.DecodeString(from.(string))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(from.(bool))
	case reflect.String:
		v.SetString(from.(string))
	case reflect.Ptr:
		v.Set(reflect.New(v.Type().Elem()))
		fromJSON(v.Elem(), from)
	case reflect.Slice:
		for i, item := range from.([]interface{}) {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			fromJSON(v.Index(i), item)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if item, ok := from.(object)[v.Type().Field(i).Tag.Get("ipc")]; ok {
				fromJSON(v.Field(i), item)
			}
		}
	default:
		number, _ := strconv.ParseUint(fmt.Sprint(from), 0, 64)
		v.SetUint(number)
	}
}

func parse(line []byte, to interface{}) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(to); err != nil {
		panic(err)
	}
}

func answer(q question) object {
	answer := object{"id": q.ID, "result": "ok"}
	var err error
	if q.Op == "encode" {
		var wire []byte
		wire, err = encode(q)
		answer["wire"] = hex.EncodeToString(wire)
	} else if answer["value"], err = decode(q); err == nil {
		// Whether the value is written as the same bytes.
		text, _ := json.Marshal(answer["value"])
		parse(text, &q.Value)
		wire, err := encode(q)
		answer["canonical"] = err == nil && hex.EncodeToString(wire) == q.Wire
	}
	var refused *ipc.Error
	if errors.As(err, &refused) {
		answer["result"], answer["layer"] = "error", refused.Layer()
		if refused.Layer() != "limits" {
			delete(answer, "value")
		}
	} else if err == errUnsupported {
		answer["result"] = "unsupported"
	} else if err != nil {
		answer["result"], answer["layer"] = "error", "payload"
	}
	return answer
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var q question
		parse(line, &q)
		text, err := json.Marshal(answer(q))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", text)
	}
}
