// Package asciipmns loads a name space for tools that say what is wrong with it in the
// words of pmLoadASCIINameSpace(3).
package asciipmns

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Load loads the name space that option -n of a tool names; given says that there was
// one, else it is the installed one. The error has two lines, of which the second begins
// with prefix.
func Load(file string, given bool, prefix string) (*pmns.Tree, error) {
	var tree *pmns.Tree
	err := error(fs.ErrNotExist) // of an empty name
	if !given || file != "" {
		tree, err = pmns.Load(file)
	}
	if err == nil {
		return tree, nil
	}
	shown, report := file, ""
	if !given {
		shown, file = "(null)", pmns.DefaultFile()
	}
	if p, ok := errors.AsType[*pmns.ParseError](err); ok {
		report = p.Error()
	} else {
		report = fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open \"%s\"", file)
	}
	return nil, fmt.Errorf("%s\n%spmLoadASCIINameSpace(%s, 1): %w", report, prefix, shown, pdu.FromError(err))
}
