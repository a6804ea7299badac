// Reads every vector of an installed module; its codec reads a string as the value has it.
package read

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/OWNER/dotnet-diagnostics-ipc/vectors"
	"github.com/OWNER/dotnet-diagnostics-ipc/vectors/dotnetipc"
)

type file struct {
	Files  []struct{ Name string }
	Groups []struct {
		Type  string
		Tests []struct {
			TcId  int
			Wire  string
			Value interface{}
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
				var text dotnetipc.String
				if value, ok := test.Value.(string); ok && err == nil && group.Type == "string" {
					if _, err = dotnetipc.DecodePiece(wire, &text); text.String() != value {
						t.Errorf("%d: %q", test.TcId, text)
					}
				}
				if err != nil {
					t.Errorf("%d: %v", test.TcId, err)
				}
			}
		}
	}
	fmt.Println(tried, "tests")
}
