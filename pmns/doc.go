// Package pmns reads, builds, merges and writes performance metrics name spaces (PMNS): trees that
// map the dotted names of metrics to their PMIDs.
//
//	tree, err := pmns.Load("/var/lib/pcp/pmns/root") // "" for the installed one
//	if err != nil {
//		return err // with file, line, text and a caret
//	}
//	id, err := tree.Lookup("kernel.all.load")
//	if err != nil {
//		return err // pdu.ErrName, or pdu.ErrNonLeaf
//	}
//	for name, id := range tree.All() {
//		fmt.Println(name, id)
//	}
//
// [Parse] reads from an io.Reader. A [Builder] makes a tree from names and PMIDs. [Merge] combines
// trees. [Tree.WriteTo] writes the layout of pmnsmerge(1).
//
// # Files
//
// A file lists nodes. Each node has the children of one path, and leaves have a PMID. The node
// root is the top:
//
//	#define CACHE 251
//	root {
//	    cache
//	    log     252:*:*     /* agent 252 knows the names below log */
//	}
//	cache {
//	    hits    CACHE:0:0
//	    misses  CACHE:0:1
//	}
//
// A [Loader] preprocesses and parses such a file and the files that it includes, from disk or
// through its Open function. #include, #define, #undef, #ifdef, #ifndef, #else and #endif work as
// in pmcpp(1). #shell is refused, because reading a file must not run commands.
//
// Lines have at most 254 bytes and files nest up to 5 deep, as in the C library. A file and all
// that it includes have at most 16 MiB and 4096 files.
//
// # Errors
//
// A file that cannot be parsed is a [*ParseError], with the file, the line, the text and a caret.
// It wraps pdu.ErrPMNS. The methods Lookup, Children and Traverse return bare codes of package pdu.
// Other errors are [*OpError].
//
// # Dynamic names
//
// A dynamic root (d:*:* in a file) stands for a subtree whose names only the agent of domain d
// knows. Its PMID is [pdu.DynamicRoot]. Each name at or below it resolves to that PMID, and a
// collector then requests the rest from the agent.
//
// A node without a metric at or below it is dropped, as in the C library.
//
// # Concurrency and cost
//
// A [Tree] never changes, so it is safe for concurrent use. A program whose names change makes a
// new tree and swaps the pointer. A Builder is for one goroutine at a time. A Loader is safe for
// concurrent use if its Open is.
//
// Merge shares the subtrees that only one tree has. Its cost grows with the number of nodes that
// several trees have.
//
// # Names in the C library
//
//	pmLoadNameSpace, pmLoadASCIINameSpace   Load, Loader
//	pmLookupName                            Tree.Lookup
//	pmNameID, pmNameAll                     Tree.Names
//	pmGetChildren, pmGetChildrenStatus      Tree.Children
//	pmTraversePMNS, pmTraversePMNS_r        Tree.All, Tree.Traverse
//	pmdaTreeCreate, pmdaTreeInsert          Builder
//	pmnsmerge                               Merge, Tree.WriteTo
//	pmcpp                                   Loader
package pmns
