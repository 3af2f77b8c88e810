// Package logrewrite changes the metadata of an archive: names, types, units, instances, labels,
// help texts and the label of the archive. Values follow where necessary. It is pmlogrewrite(1) as
// a library.
//
//	rules, err := logrewrite.Parse("rules", strings.NewReader(`
//		global { hostname -> web2 }
//		metric disk.dev.read { type -> U64 name -> disk.dev.reads }`))
//	if err != nil {
//		return err // names "rules" and the line
//	}
//	o := logrewrite.Options{Warn: func(w logrewrite.Warning) { log.Print(w) }}
//	err = o.Rewrite(ctx, "web1/20261123", "web1/20261123.new", rules)
//
// A [Plan] applies rules to one archive step by step. Plan.Summary lists all changes before a file
// is written. Plan.Write writes another archive, and Plan.WriteInPlace replaces the archive.
//
// # The language of rules
//
// The language is that of PCP 6.0.3 with the clauses of PCP 7. Errors and warnings have PCP's texts
// and the line of the rule.
//
//	global { hostname -> web2 tz -> "UTC" time -> -1:30:00 }
//	indom 60.2 { inst 1 -> 60 iname "1 minute" -> "60 second" }
//	indom 60.2 { iname "5 minute" -> delete indom -> duplicate 61.* }
//	metric disk.dev.read { type -> U64 name -> disk.dev.reads }
//	metric disk.dev.write { units -> 0,0,1,0,0,ONE sem -> counter }
//	metric 60.8.* { pmid -> 3.*.* }
//	metric kernel.all.load { indom -> NULL output inst 15 }
//	text metric 60.0.4 help { text -> "reads" }
//	label domain 60 "agent" { value -> "linux" }
//	indom 3.9 { iname replace /^([0-9]+ [^ ]+) .*/ -> "\1 ..." }
//	metric kernel.uname.nodename { value /^[^.]*/ -> "host" }
//
// A rule also changes what depends on its target: a rule for an instance domain changes the
// metrics, texts and labels of the domain, and a rule for a metric changes its texts and labels.
//
// # Memory and concurrency
//
// A Plan keeps the metadata of the archive in memory, like archive.Set. Data records are copied one
// by one. A Plan is for one goroutine at a time.
//
// # Differences from pmlogrewrite
//
// Rules:
//
//   - Two clauses in one TEXT or LABEL rule apply in order. The C program aborts, or ignores the
//     second one.
//   - INDOM with a star moves all matching instance domains. The C program refuses the second one.
//   - A metric may move to an instance domain that is new or has changed instances. The C program
//     refuses that.
//   - INDOM -> NULL is correct after a rule with a star. The C program misreads it.
//   - Two instances may exchange their identifiers. The C program gives both the same one.
//   - Rules that make the new archive unreadable, such as two different metrics with one
//     identifier, are an error.
//
// Records:
//
//   - A time shift applies once to every record. The C program applies it again to metadata that it
//     writes later.
//   - Metadata after the record of an instance domain that lost all its instances is kept.
//   - Descriptors after that of a metric without later values are kept. The C program drops them.
//   - A label that is changed, new or moved is in one set with the other labels of its subject. PCP
//     6.0.3 writes several records of one time, and readers see only one.
//   - Labels of clusters that move get an identifier that readers can find. The index of a label
//     set is correct for labels with a new name.
//   - Strings and floats of old archives keep their encoding. A float that is stored in situ moves
//     to a value block if the metric changes.
//   - The metadata of all archives of a set is copied, not only that of the first.
//   - If no data record can be read, or none remains, there is no new archive. The C program leaves
//     one that cannot be opened.
//
// Diagnostics:
//
//   - ConvertError.Record also has values that were already moved into or out of value blocks. The
//     C program crashes when it prints them.
package logrewrite
