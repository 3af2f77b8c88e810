package helptext_test

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/pdu"
)

// A source of help texts is compiled and read again, as newhelp(1) and an agent do it.
func Example() {
	const source = `
@ cache.hits Lookups served from memory
Lookups of expired entries count as misses.

@ 400.0 The shards of the cache
`
	p := helptext.Parser{
		Resolve: func(key string) (pdu.TextTarget, error) {
			if key == "cache.hits" {
				return pdu.TextOfMetric(pdu.MakePMID(400, 0, 0)), nil
			}
			return pdu.TextTarget{}, pdu.ErrName
		},
		Report: func(p *helptext.Problem) { fmt.Println(p) },
	}
	if err := p.Parse("help", strings.NewReader(source)); err != nil {
		fmt.Println(err)
		return
	}
	dir, pag, err := helptext.Compile(p.Entries) // the contents of help.dir and help.pag
	if err != nil {
		fmt.Println(err)
		return
	}
	entries, err := helptext.Decode(dir, pag)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entries {
		fmt.Printf("%v %q %q\n", e.Of, e.OneLine, e.Help)
	}
	// Output:
	// [help:5] 400.0 The shards of the cache: warning, null help
	// metric 400.0.0 "Lookups served from memory" "Lookups of expired entries count as misses."
	// instance domain 400.0 "The shards of the cache" ""
}
