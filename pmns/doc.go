// Package pmns reads, builds, merges and writes performance metrics name spaces
// (PMNS): the trees that map the dotted names of metrics to their PMIDs.
//
//	tree, err := pmns.Load("/var/lib/pcp/pmns/root") // or pmns.Load("") for the installed one
//	if err != nil {
//		return err // file, line, the line and a caret; errors.Is(err, pdu.ErrPMNS)
//	}
//	id, err := tree.Lookup("kernel.all.load")
//	for name, id := range tree.All() {
//		fmt.Println(name, id)
//	}
//
// # Files
//
// A file lists nodes; each gives the children of one path, leaves with their
// PMID. The node called root is the top:
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
// A [Loader] runs the preprocessor and the parser over such a file and the
// files it includes, from disk or through its Open function from anywhere else.
// #include, #define, #undef, #ifdef, #ifndef, #else and #endif work as in
// pmcpp(1); #shell is refused, because reading a file must not run commands.
// Lines have at most 254 bytes and files nest up to 5 deep, as in the C library;
// a file with all that it includes has at most 16 MiB, of at most 4096 files.
// Errors are [*ParseError] and [*OpError]. [Tree.WriteTo] writes the layout of
// pmnsmerge(1).
//
// # Trees
//
// A [Tree] comes from a file, from names and PMIDs through a [Builder], or from
// other trees through [Merge]. It never changes, so that it is safe for concurrent
// use; a program whose names change makes a new tree and swaps the pointer. Merge
// shares the subtrees that only one tree has: its cost grows with the number of
// nodes that several trees have. A Builder is for one goroutine at a time. A Loader
// is safe for concurrent use if its Open is.
//
// A dynamic root (d:*:* in a file) stands for a subtree whose names the agent
// of domain d knows. Its PMID is [pdu.DynamicRoot], and every name at or below it
// resolves to that PMID, on which a collector requests the rest from the agent.
//
// A node without a metric at or below it is dropped, as the C library does when
// it loads one.
//
// # The C names
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
