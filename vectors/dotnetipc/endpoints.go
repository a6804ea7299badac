package dotnetipc

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problems of texts: names of sockets and pipes, /proc/PID/stat and DOTNET_DiagnosticPorts. All are of the layer payload.
const (
	NotUnicode       Problem = "not_unicode"
	UnknownPrefix    Problem = "unknown_prefix"
	UnknownSuffix    Problem = "unknown_suffix"
	BadNumber        Problem = "bad_number"
	MissingKey       Problem = "missing_key"
	MissingName      Problem = "missing_name"
	MissingField     Problem = "missing_field"
	EmptyAddress     Problem = "empty_address"
	PrefixedPipeName Problem = "prefixed_pipe_name"
	NUL              Problem = "nul"
	EmptyTag         Problem = "empty_tag"
	UnknownTag       Problem = "unknown_tag"
)

const (
	// NamePrefix begins the name of each socket and pipe.
	NamePrefix = "dotnet-diagnostic-"
	// DraftNamePrefix begins those of the draft of 2019.
	DraftNamePrefix = "dotnetcore-diagnostic-"
	// RouterNamePrefix begins those of the device behind dotnet-dsrouter, whose process id follows (F-162).
	RouterNamePrefix = "dotnet-diagnostic-dsrouter-"
	// PipeDirectory is the directory of pipes.
	PipeDirectory = `\\.\pipe\`

	whiteSpace = " \t\n\v\f\r"
)

// SocketName is the name of a runtime's socket, without its directory.
type SocketName struct {
	// Prefix is [NamePrefix], [DraftNamePrefix] or [RouterNamePrefix].
	Prefix string `ipc:"prefix"`
	// PID is the id of the process.
	PID uint32 `ipc:"pid"`
	// Key is the start time of the process as [ProcessStat] has it on Linux, or 0 if the runtime does not know it.
	Key uint64 `ipc:"key"`
	// Socket is whether the name ends with "-socket". All do, except as one edition of the document prints it.
	Socket bool `ipc:"socket"`
}

// ParseSocketName reads the name of a socket.
func ParseSocketName(name string) (SocketName, error) {
	var s SocketName
	p := parser{text: name, rest: name}
	s.Prefix = p.prefix()
	s.PID = uint32(p.number(32))
	p.expect("-", MissingKey)
	s.Key = p.number(64)
	s.Socket = p.rest == "-socket"
	if !s.Socket {
		p.end()
	}
	return s, p.result()
}

// String returns the name.
func (s SocketName) String() string {
	return fmt.Sprintf("%s%d-%d%s", s.Prefix, s.PID, s.Key, map[bool]string{true: "-socket"}[s.Socket])
}

// PipeName is the name of a runtime's pipe on Windows.
type PipeName struct {
	// Prefix is [NamePrefix], [DraftNamePrefix] or [RouterNamePrefix].
	Prefix string `ipc:"prefix"`
	// PID is the id of the process.
	PID uint32 `ipc:"pid"`
	// Path is whether the name begins with [PipeDirectory].
	Path bool `ipc:"path"`
}

// ParsePipeName reads the name of a pipe.
func ParsePipeName(name string) (PipeName, error) {
	s := PipeName{Path: strings.HasPrefix(name, PipeDirectory)}
	p := parser{text: name, rest: strings.TrimPrefix(name, PipeDirectory)}
	s.Prefix = p.prefix()
	s.PID = uint32(p.number(32))
	p.end()
	return s, p.result()
}

// String returns the name.
func (s PipeName) String() string {
	return fmt.Sprintf("%s%s%d", map[bool]string{true: PipeDirectory}[s.Path], s.Prefix, s.PID)
}

// ProcessStat is what /proc/PID/stat has of a socket's name.
type ProcessStat struct {
	// PID is the id of the process.
	PID uint32 `ipc:"pid"`
	// StartTime is the key in the name of the process's socket.
	StartTime uint64 `ipc:"startTime"`
}

var fieldOfStat = regexp.MustCompile(`^[ \t\n\f\r]*[^ \t\n\f\r]*`)

// ParseProcessStat reads all of /proc/PID/stat. The name of the process may be any bytes.
func ParseProcessStat(stat []byte) (ProcessStat, error) {
	closing := bytes.LastIndexByte(stat, ')')
	if closing < 0 {
		return ProcessStat{}, &Error{MissingName, len(stat), ""}
	}
	pid, err := plainNumber(strings.TrimRight(string(stat[:bytes.IndexAny(stat, whiteSpace+")")]), ")"), 32)
	if err != nil {
		return ProcessStat{}, &Error{BadNumber, 0, ""}
	}
	field, rest := "", string(stat[closing+1:])
	for i := 0; i < 20; i++ {
		field = fieldOfStat.FindString(rest)
		rest = rest[len(field):]
	}
	if rest == "" {
		return ProcessStat{}, &Error{MissingField, len(stat), ""}
	}
	field = strings.TrimLeft(field, whiteSpace)
	start, err := plainNumber(field, 64)
	if err != nil {
		return ProcessStat{}, &Error{BadNumber, len(stat) - len(rest) - len(field), ""}
	}
	return ProcessStat{uint32(pid), start}, nil
}

// String returns a text that [ParseProcessStat] reads.
func (s ProcessStat) String() string {
	return fmt.Sprintf("%d () S%s %d\n", s.PID, strings.Repeat(" 0", 18), s.StartTime)
}

// Port is a diagnostic port: an address to which a runtime connects.
type Port struct {
	// Address is a path, or the name of a pipe without [PipeDirectory].
	Address string
	// NoSuspend is whether the runtime starts without ResumeRuntime.
	NoSuspend bool
}

// IgnoredPart is a part of DOTNET_DiagnosticPorts that runtimes ignore.
type IgnoredPart struct {
	// Offset is the number of bytes before it.
	Offset int `ipc:"offset"`
	// Text is the part.
	Text string `ipc:"text"`
	// Reason is empty_port, no_address, empty_field, unknown_tag, later_tag, listen_port or behind_nul.
	Reason string `ipc:"reason"`
}

// ParsePorts reads DOTNET_DiagnosticPorts as runtimes do. The last port in the text is the first here.
func ParsePorts(variable string) (ports []Port, ignored []IgnoredPart, err error) {
	if err := checkUTF8(variable); err != nil {
		return nil, nil, err
	}
	text, offset := strings.SplitN(variable, "\x00", 2)[0], 0
	for _, entry := range strings.Split(text, ";") {
		if entry == "" && text != "" {
			ignored = append(ignored, IgnoredPart{offset, entry, "empty_port"})
		} else if entry != "" {
			port, parts, reason := parsePort(entry, offset)
			if reason != "" {
				parts = []IgnoredPart{{offset, entry, reason}}
			} else {
				ports = append([]Port{port}, ports...)
			}
			ignored = append(ignored, parts...)
		}
		offset += len(entry) + 1
	}
	if len(text) < len(variable) {
		ignored = append(ignored, IgnoredPart{len(text), variable[len(text):], "behind_nul"})
	}
	return ports, ignored, nil
}

// parsePort reads a port, unless there is a reason to ignore all of it.
func parsePort(entry string, offset int) (port Port, ignored []IgnoredPart, reason string) {
	suspend, kind := "", ""
	for _, field := range strings.Split(entry, ",") {
		to, why := &suspend, "later_tag"
		switch tag := asciiLower(field); {
		case field == "":
			why, to = "empty_field", nil
		case port.Address == "":
			port.Address, to, why = field, nil, ""
		case tag == "connect" || tag == "listen":
			to = &kind
		case tag != "suspend" && tag != "nosuspend":
			why, to = "unknown_tag", nil
		}
		if to != nil && *to == "" {
			*to, why = asciiLower(field), ""
		}
		if why != "" {
			ignored = append(ignored, IgnoredPart{offset, field, why})
		}
		offset += len(field) + 1
	}
	port.NoSuspend = suspend == "nosuspend"
	if isBlank(port.Address) {
		return port, nil, "no_address"
	} else if kind == "listen" {
		return port, nil, "listen_port"
	}
	return port, ignored, ""
}

// ParsePortsStrict reads DOTNET_DiagnosticPorts by the grammar of the document alone.
func ParsePortsStrict(variable string) ([]Port, error) {
	if err := checkUTF8(variable); err != nil {
		return nil, err
	}
	offset := 0
	for _, entry := range strings.Split(variable, ";") {
		at := offset
		for i, field := range strings.Split(entry, ",") {
			problem, nul := Problem(""), strings.IndexByte(entry, 0)
			switch {
			case i == 0 && isBlank(field):
				problem = EmptyAddress
			case i == 0 && len(field) >= len(PipeDirectory) && strings.EqualFold(field[:len(PipeDirectory)], PipeDirectory):
				problem = PrefixedPipeName
			case i == 0 && nul >= 0:
				problem, at = NUL, at+nul
			case i > 0 && field == "":
				problem = EmptyTag
			case i > 0 && field != "suspend" && field != "nosuspend" && field != "connect":
				problem = UnknownTag
			}
			if problem != "" {
				return nil, &Error{problem, at, ""}
			}
			at += len(field) + 1
		}
		offset += len(entry) + 1
	}
	ports, _, err := ParsePorts(variable)
	return ports, err
}

// FormatPorts returns DOTNET_DiagnosticPorts with these ports.
func FormatPorts(ports []Port) (string, error) {
	variable := ""
	for i, port := range ports {
		if isBlank(port.Address) || strings.ContainsAny(port.Address, ";,\x00") {
			return "", fmt.Errorf("dotnetipc: port %d: %q cannot be an address", i, port.Address)
		}
		variable = port.Address + map[bool]string{true: ",nosuspend"}[port.NoSuspend] + map[bool]string{true: ";"}[i > 0] + variable
	}
	return variable, nil
}

var hexadecimal = regexp.MustCompile(`^[ \t\n\v\f\r]*[+-]?(?:0[xX])?([0-9A-Fa-f]+)`)

// DefaultPortSuspends reads DOTNET_DefaultDiagnosticPortSuspend: whether the runtime waits for ResumeRuntime on its default port.
func DefaultPortSuspends(variable string) (bool, error) {
	number := uint64(0)
	if found := hexadecimal.FindStringSubmatch(variable); found != nil {
		if fits, err := strconv.ParseUint(found[1], 16, 32); err == nil {
			number = fits
		}
	}
	return number != 0, checkUTF8(variable)
}

// parser reads a text from its front. It keeps the first error.
type parser struct {
	text, rest string
	err        error
}

func (p *parser) result() error {
	if err := checkUTF8(p.text); err != nil {
		return err
	}
	return p.err
}

func (p *parser) refuse(problem Problem) {
	if p.err == nil {
		p.err = &Error{problem, len(p.text) - len(p.rest), ""}
	}
}

func (p *parser) prefix() string {
	for _, prefix := range []string{RouterNamePrefix, NamePrefix, DraftNamePrefix} {
		if strings.HasPrefix(p.rest, prefix) {
			p.rest = p.rest[len(prefix):]
			return prefix
		}
	}
	p.refuse(UnknownPrefix)
	return ""
}

func (p *parser) number(bits int) uint64 {
	digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
	number, err := plainNumber(digits, bits)
	if err != nil {
		p.refuse(BadNumber)
	}
	p.rest = p.rest[len(digits):]
	return number
}

func (p *parser) expect(text string, problem Problem) {
	if !strings.HasPrefix(p.rest, text) {
		p.refuse(problem)
	}
	p.rest = strings.TrimPrefix(p.rest, text)
}

func (p *parser) end() {
	if p.rest != "" {
		p.refuse(UnknownSuffix)
	}
}

// plainNumber is a decimal number without a sign and without zeros in front.
func plainNumber(digits string, bits int) (uint64, error) {
	number, err := strconv.ParseUint(digits, 10, bits)
	if err == nil && strconv.FormatUint(number, 10) != digits {
		err = strconv.ErrSyntax
	}
	return number, err
}

func isBlank(address string) bool { return strings.Trim(address, whiteSpace) == "" }

func asciiLower(text string) string {
	return strings.Map(func(letter rune) rune {
		if 'A' <= letter && letter <= 'Z' {
			letter += 'a' - 'A'
		}
		return letter
	}, text)
}

func checkUTF8(text string) error {
	for i, letter := range text {
		if letter == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return &Error{NotUnicode, i, ""}
		}
	}
	return nil
}
