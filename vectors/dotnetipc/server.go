package dotnetipc

// NotAnEntry is an entry of an environment block that would be read as another one, of the layer payload.
const NotAnEntry Problem = "not_an_entry"

// AppendEnvironment appends an environment block, which a server sends after a [ProcessEnvironmentReply] with its size.
func AppendEnvironment(to []byte, variables []Variable) ([]byte, error) {
	c := &cursor{writing: true}
	c.number(4, uint64(len(variables)))
	for i, variable := range variables {
		units := append(String{}, variable.Name...)
		if variable.Value != nil {
			units = append(append(units, '='), variable.Value...)
		}
		if !variable.Unterminated {
			units = append(units, 0)
		}
		again := variableOf(units)
		if len(again.Name) != len(variable.Name) || (again.Value == nil) != (variable.Value == nil) || again.Unterminated != variable.Unterminated {
			c.path = []step{{"environment", i}}
			c.refuse(NotAnEntry, c.offset())
			return to, c.err
		}
		c.number(4, uint64(len(units)))
		for _, unit := range units {
			c.number(2, uint64(unit))
		}
	}
	return append(to, c.data...), nil
}

// AppendStreamStart appends the bytes by which an event stream is recognised: none of one that is opaque.
func AppendStreamStart(to []byte, start StreamStart) []byte {
	for _, one := range streamFronts {
		if one[0] == start.Format {
			to = append(to, one[1]...)
		}
	}
	c := &cursor{data: to, writing: true}
	c.streamNumbers(&start)
	return c.data
}

// DecodePiece reads the front of bytes into the zero value of a part of messages: a struct, number, GUID, text or array. It returns
// the number of bytes that it read.
func DecodePiece(bytes []byte, piece interface{}) (int, error) {
	c := &cursor{data: bytes}
	err := c.piece(piece, 0)
	return c.at, err
}

// AppendPiece appends the bytes of what [DecodePiece] reads.
func AppendPiece(to []byte, piece interface{}) ([]byte, error) {
	c := &cursor{writing: true}
	if err := c.piece(piece, 0); err != nil {
		return to, err
	}
	return append(to, c.data...), nil
}
