package pmns_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing/fstest"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

const cacheFile = `
#define CACHE 251
root {
    cache
    log     252:*:*     /* agent 252 knows the names below log */
}
cache {
    hits    CACHE:0:0
    misses  CACHE:0:1
}
`

func Example() {
	tree, err := pmns.Parse("root_cache", strings.NewReader(cacheFile))
	if err != nil {
		log.Fatal(err)
	}
	id, err := tree.Lookup("cache.hits")
	fmt.Println(id, err)
	for name, id := range tree.All() {
		fmt.Println(name, id)
	}
	// Output:
	// 251.0.0 <nil>
	// cache.hits 251.0.0
	// cache.misses 251.0.1
	// log 252.*.*
}

// What a collector does with a name: it looks up its own, and passes on
// those that only an agent can know.
func ExampleTree_Lookup() {
	tree, err := pmns.Parse("root_cache", strings.NewReader(cacheFile))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"cache.hits", "cache", "log.web.requests", "nosuch"} {
		id, err := tree.Lookup(name)
		if domain, ok := id.IsDynamicRoot(); ok {
			fmt.Printf("%s: known to agent %d\n", name, domain)
		} else if err != nil {
			fmt.Printf("%s: %v\n", name, err)
		} else {
			fmt.Printf("%s: %v\n", name, id)
		}
	}
	// Output:
	// cache.hits: 251.0.0
	// cache: Metric name is not a leaf in PMNS
	// log.web.requests: known to agent 252
	// nosuch: Unknown metric name
}

func ExampleTree_Children() {
	tree, err := pmns.Parse("root_cache", strings.NewReader(cacheFile))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"", "cache"} {
		children, err := tree.Children(name)
		fmt.Printf("%q: %v %v\n", name, children, err)
	}
	// Output:
	// "": [{cache false} {log false}] <nil>
	// "cache": [{hits true} {misses true}] <nil>
}

func ExampleParse_error() {
	_, err := pmns.Parse("root_cache", strings.NewReader("root {\n    cache.hits  251:0:0\n}\n"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, pdu.ErrPMNS))
	// Output:
	// [root_cache:2] Error Parsing ASCII PMNS: Expected NAME or }
	//     cache.hits 251:0:0
	//     ^
	// true
}

// A loader that reads nothing but an embedded file system.
func ExampleLoader() {
	files := fstest.MapFS{
		"root":          {Data: []byte("#include \"parts/cache\"\nroot { cache CACHE:*:* }\n")},
		"parts/cache":   {Data: []byte("#ifndef CACHE\n#define CACHE 251\n#endif\n")},
		"parts/unused":  {Data: []byte("#shell \"never run\"\n")},
		"parts/ignored": {},
	}
	l := pmns.Loader{
		Open:   func(name string) (io.ReadCloser, error) { return files.Open(name) },
		Unique: true,
	}
	tree, err := l.Load("root")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tree.Lookup("cache.size"))
	// Output:
	// 251.*.* <nil>
}

func ExampleBuilder() {
	var b pmns.Builder
	for item, name := range []string{"cache.hits", "cache.misses", "cache.shard.size", "cache"} {
		if err := b.Add(name, pdu.MakePMID(251, 0, item)); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := b.Tree().WriteTo(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// pmns: add "cache": there are names below it: Metric name is not a leaf in PMNS
	// root {
	// 	cache
	// }
	//
	// cache {
	// 	hits	251:0:0
	// 	misses	251:0:1
	// 	shard
	// }
	//
	// cache.shard {
	// 	size	251:0:2
	// }
}

func ExampleMerge() {
	one, err := pmns.Parse("one", strings.NewReader("root { app } app { hits 60:0:0 }\n"))
	if err != nil {
		log.Fatal(err)
	}
	two, err := pmns.Parse("two", strings.NewReader("root { app } app { hits 60:9:9 size 60:0:2 }\n"))
	if err != nil {
		log.Fatal(err)
	}
	tree, conflicts := pmns.Merge(one, two)
	for name, id := range tree.All() {
		fmt.Println(name, id)
	}
	for _, c := range conflicts {
		fmt.Println(c)
	}
	// Output:
	// app.hits 60.0.0
	// app.size 60.0.2
	// performance metric "app.hits" has multiple PMIDs, using PMID 60.0.0 and ignoring PMID 60.9.9
}
