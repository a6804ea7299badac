package dotnetipc

import (
	"reflect"
	"strings"
	"unicode/utf8"
)

// Problems of data between runtimes and the Linux kernel. All are of the layer payload.
const (
	WrongStructSize         Problem = "wrong_struct_size"
	NonZeroPadding          Problem = "non_zero_padding"
	RelLocOutOfRange        Problem = "rel_loc_out_of_range"
	BadTracepointName       Problem = "bad_tracepoint_name"
	UnknownTracepointFormat Problem = "unknown_tracepoint_format"
	EmptyName               Problem = "empty_name"
	ForbiddenUnit           Problem = "forbidden_unit"
	PartTooLong             Problem = "part_too_long"
	UnknownLabelNotLast     Problem = "unknown_label_not_last"
)

// UserReg is struct user_reg of the kernel: 28 bytes, or 32 with padding as runtimes have it.
type UserReg struct {
	Size       uint32 `ipc:"size"`
	EnableBit  uint8  `ipc:"enable_bit"`
	EnableSize uint8  `ipc:"enable_size"`
	Flags      uint16 `ipc:"flags"`
	EnableAddr uint64 `ipc:"enable_addr"`
	NameArgs   uint64 `ipc:"name_args"`
	WriteIndex uint32 `ipc:"write_index"`
}

// DecodeUserReg reads a struct user_reg.
func DecodeUserReg(bytes []byte) (UserReg, error) {
	var r UserReg
	c := &cursor{data: bytes}
	c.structure(&r, 28, 32)
	if r.Size == 32 {
		for i, octet := range c.take(4) {
			if octet != 0 {
				c.refuse(NonZeroPadding, c.at-4+i)
			}
		}
	}
	return r, c.err
}

// AppendUserReg appends a struct user_reg.
func AppendUserReg(to []byte, r UserReg) ([]byte, error) {
	c := &cursor{writing: true}
	if c.structure(&r, 28, 32); c.err != nil {
		return to, c.err
	}
	c.number(int(r.Size)-28, 0)
	return append(to, c.data...), nil
}

// UserUnreg is struct user_unreg of the kernel: 16 bytes.
type UserUnreg struct {
	Size        uint32 `ipc:"size"`
	DisableBit  uint8  `ipc:"disable_bit"`
	Reserved    uint8  `ipc:"reserved"`
	Reserved2   uint16 `ipc:"reserved2"`
	DisableAddr uint64 `ipc:"disable_addr"`
}

// DecodeUserUnreg reads a struct user_unreg.
func DecodeUserUnreg(bytes []byte) (UserUnreg, error) {
	var r UserUnreg
	c := &cursor{data: bytes}
	c.structure(&r, 16, 16)
	return r, c.err
}

// AppendUserUnreg appends a struct user_unreg.
func AppendUserUnreg(to []byte, r UserUnreg) ([]byte, error) {
	c := &cursor{writing: true}
	if c.structure(&r, 16, 16); c.err != nil {
		return to, c.err
	}
	return append(to, c.data...), nil
}

// structure is a struct that begins with its size, which is one of two.
func (c *cursor) structure(pointer interface{}, size, padded uint64) {
	first := *c
	is := reflect.ValueOf(pointer).Elem().Field(0).Uint()
	if !c.writing {
		is = first.number(4, 0)
	}
	if first.err == nil && is != size && is != padded {
		c.path = []step{{"size", -1}}
		c.refuse(WrongStructSize, 0)
	}
	c.value(reflect.ValueOf(pointer).Elem())
}

const (
	tracepointFields = " u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
	longestName      = 436
)

// ParseTracepointCommand returns the name in the text with which a runtime registers a tracepoint.
func ParseTracepointCommand(text string) (string, error) {
	name := strings.SplitN(text, " ", 2)[0]
	if name == "" {
		return "", &Error{EmptyName, 0, "tracepoint_name"}
	} else if len(name) > longestName {
		return "", &Error{PartTooLong, longestName, "tracepoint_name"}
	}
	for i, letter := range name {
		if letter == 0 || letter == utf8.RuneError && !strings.HasPrefix(name[i:], "\uFFFD") {
			return "", &Error{BadTracepointName, i, "tracepoint_name"}
		}
	}
	fields := text[len(name):]
	at := mismatch([]byte(fields), tracepointFields)
	if fields != tracepointFields && at < 0 {
		at = len(fields)
		if at > len(tracepointFields) {
			at = len(tracepointFields)
		}
	}
	if at >= 0 {
		return "", &Error{UnknownTracepointFormat, len(name) + at, ""}
	}
	return name, nil
}

// FormatTracepointCommand returns the text with which a runtime registers a tracepoint.
func FormatTracepointCommand(name string) (string, error) {
	switch {
	case name == "":
		return "", &Error{EmptyName, 0, ""}
	case strings.ContainsAny(name, " \x00") || !utf8.ValidString(name):
		return "", &Error{ForbiddenUnit, 0, ""}
	case len(name) > longestName:
		return "", &Error{PartTooLong, 0, ""}
	}
	return name + tracepointFields, nil
}

// Record is what a runtime writes for an event. A reader of the tracepoint does not get the WriteIndex.
type Record struct {
	WriteIndex uint32 `ipc:"write_index"`
	// Version is 1. Another one has only Rest.
	Version uint8  `ipc:"version"`
	EventID uint16 `ipc:"event_id"`
	// Extension is for [DecodeExtension].
	Extension []byte `ipc:"extension"`
	Payload   []byte `ipc:"payload"`
	Rest      Rest   `ipc:"rest"`
}

const recordSize = 15

// DecodeRecord reads a record.
func DecodeRecord(bytes []byte) (Record, error) {
	var r Record
	c := &cursor{data: bytes}
	c.field("write_index", reflect.ValueOf(&r.WriteIndex).Elem())
	c.field("version", reflect.ValueOf(&r.Version).Elem())
	if r.Version != 1 {
		c.field("rest", reflect.ValueOf(&r.Rest).Elem())
		return r, c.err
	}
	var extension, payload uint32
	c.field("event_id", reflect.ValueOf(&r.EventID).Elem())
	c.field("extension", reflect.ValueOf(&extension).Elem())
	c.field("payload", reflect.ValueOf(&payload).Elem())
	r.Extension = c.located("extension", extension, recordSize-4)
	r.Payload = c.located("payload", payload, recordSize)
	return r, c.err
}

// located returns the bytes of a __rel_loc that ends at some byte.
func (c *cursor) located(name string, location uint32, end int) []byte {
	start := end + int(location&0xFFFF)
	stop := start + int(location>>16)
	if c.err == nil && (start < recordSize || stop > len(c.data)) {
		c.path = []step{{name, -1}}
		c.refuse(RelLocOutOfRange, end-4)
	}
	if c.err != nil {
		return nil
	}
	return append([]byte{}, c.data[start:stop]...)
}

// AppendRecord appends a record.
func AppendRecord(to []byte, r Record) ([]byte, error) {
	c := &cursor{writing: true}
	c.number(4, uint64(r.WriteIndex))
	c.number(1, uint64(r.Version))
	if r.Version != 1 {
		return append(append(to, c.data...), r.Rest...), nil
	}
	if len(r.Extension) > 0xFFFF || len(r.Payload) > 0xFFFF {
		return to, &Error{PartTooLong, 0, ""}
	}
	c.number(2, uint64(r.EventID))
	// Each location counts from its own end, over the other one and the extension.
	c.number(4, uint64(len(r.Extension))<<16|4)
	c.number(4, uint64(len(r.Payload))<<16|uint64(len(r.Extension)))
	return append(append(append(to, c.data...), r.Extension...), r.Payload...), nil
}

// ExtensionItem is an item of a record's extension.
type ExtensionItem struct {
	// Label says what the item is: 1 is metadata, 2 the id of an activity, 3 that of the related one. Any other has all that follows.
	Label    uint8  `ipc:"label"`
	Metadata []byte `ipc:"metadata"`
	GUID     GUID   `ipc:"guid"`
	Rest     Rest   `ipc:"rest"`
}

// field returns the part that the label says.
func (e *ExtensionItem) field() (string, reflect.Value) {
	switch e.Label {
	case 1:
		return "metadata", reflect.ValueOf(&e.Metadata).Elem()
	case 2, 3:
		return "guid", reflect.ValueOf(&e.GUID).Elem()
	}
	return "rest", reflect.ValueOf(&e.Rest).Elem()
}

// DecodeExtension reads the extension of a record.
func DecodeExtension(bytes []byte) ([]ExtensionItem, error) {
	var items []ExtensionItem
	for c := (&cursor{data: bytes}); c.at < len(bytes); {
		c.path = []step{{"extension", len(items)}}
		item := ExtensionItem{Label: uint8(c.number(1, 0))}
		c.field(item.field())
		if c.err != nil {
			return nil, c.err
		}
		items = append(items, item)
	}
	return items, nil
}

// AppendExtension appends the extension of a record.
func AppendExtension(to []byte, items []ExtensionItem) ([]byte, error) {
	c := &cursor{writing: true}
	for i := range items {
		name, value := items[i].field()
		if name == "rest" && i+1 < len(items) {
			return to, &Error{UnknownLabelNotLast, 0, ""}
		}
		c.number(1, uint64(items[i].Label))
		c.field(name, value)
	}
	return append(to, c.data...), nil
}
