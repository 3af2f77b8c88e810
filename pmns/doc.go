// Package pmns reads, holds, merges and writes performance metric name spaces:
// the trees that map the dotted names of metrics to their PMIDs.
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
//	    log     252:*:*     /* everything below log is asked of agent 252 */
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
// Errors are a [*ParseError]. [Tree.WriteTo] writes the layout of pmnsmerge(1).
//
// # Trees
//
// A [Tree] comes from a file, from names and PMIDs through a [Builder], or from
// other trees through [Merge]. It never changes, so all its methods may be
// called by any number of goroutines at once; a program whose names change makes
// a new tree and swaps the pointer. Merge shares the parts that only one tree
// has, so that it costs in proportion to the nodes that several trees have. A
// Builder belongs to one goroutine at a time. A Loader does not change while
// loading and may be shared if its Open may.
//
// A dynamic root (d:*:* in a file) stands for a subtree whose names the agent
// of domain d knows. Its PMID is [pdu.DynamicRoot], and every name at or below it
// resolves to that PMID, the sign for a collector to ask the agent.
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
