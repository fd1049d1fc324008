package schemas

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WSCommand is a command as it comes in. ID is 0 when it could not be read; Params
// is nil when there are none.
type WSCommand struct {
	ID     Int
	Cmd    string
	Params []byte
}

// ReadWSCommand takes a message apart. With a fault the command still carries the
// id if that could be read, so that the error can name it (contract ws, Commands).
func ReadWSCommand(raw []byte) (WSCommand, *Fault) {
	v := jsontext.Value(raw)
	if v.Kind() != '{' || !v.IsValid() {
		return WSCommand{}, faultAt("malformed_json", "", string(raw), "one JSON object: no duplicate names, nothing after it, UTF-8")
	}
	var c WSCommand
	var out found
	named := false
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	mustRead(dec)
	for dec.PeekKind() != '}' {
		name := mustRead(dec).String()
		value, err := dec.ReadValue()
		if err != nil {
			panic(err) // the whole value was found valid before
		}
		named = named || name == "cmd"
		out.put(c.member(name, value))
	}
	if c.ID == 0 && out.schema == nil {
		out.put(violation("id", "required: an integer from 1 to 2147483647"))
	}
	if !named && out.schema == nil {
		out.put(violation("cmd", "required: a string"))
	}
	return c, out.worst()
}

func (c *WSCommand) member(name string, value jsontext.Value) *Fault {
	switch name {
	case "id":
		var id Int
		if id.parse(value) != nil || id < 1 || id > math.MaxInt32 {
			return faultAt("schema_violation", "id", string(value), "an integer from 1 to 2147483647")
		}
		c.ID = id
	case "cmd":
		if value.Kind() != '"' || json.Unmarshal(value, &c.Cmd) != nil {
			return faultAt("schema_violation", "cmd", string(value), "a string")
		}
	case "params":
		if value.Kind() != '{' {
			return faultAt("schema_violation", "params", string(value), "an object")
		}
		c.Params = bytes.Clone(value)
	default:
		return faultAt("unknown_field", printable(name), printable(name), "no such field")
	}
	return nil
}
