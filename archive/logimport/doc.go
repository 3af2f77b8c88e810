// Package logimport makes archives of Performance Co-Pilot of values that come from elsewhere: logs, spreadsheets, the output
// of other tools. It is the counterpart of LOGIMPORT(3), the C library libpcp_import.
//
//	im, err := logimport.New("web1", archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
//	…
//	disks := pdu.MakeInDom(logimport.Domain, 0)
//	im.AddMetric("disk.dev.read", pdu.Desc{Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter})
//	im.AddInstance(disks, "sda", 0)
//	reads, err := logimport.HandleOf[uint64](im, "disk.dev.read", "sda")
//	for … {
//		reads.Put(n)
//		err = im.Write(t)
//	}
//	err = im.Close()
//
// Values and metadata go to the files at each Write, as [archive.Writer] says. Nothing is allocated
// for values that have handles once all have been put.
//
// # Names in the C library
//
//	pmiStart                     New; with inherit Importer.Next
//	pmiSetHostname, pmiSetTimezone, pmiSetVersion
//	                             archive.WriterOptions.Label
//	pmiUseContext                an Importer is a value
//	pmiAddMetric, pmiAddInstance Importer.AddMetric, Importer.AddInstance
//	pmiPutValue                  Importer.PutText for texts, Importer.Put
//	pmiGetHandle                 Importer.Handle, HandleOf
//	pmiPutValueHandle            Handle.PutText for texts, Handle.Put, Value.Put
//	pmiWrite, pmiHighResWrite    Importer.Write
//	pmiPutResult, pmiPutMark     Importer.PutResult, Importer.PutMark
//	pmiPutText, pmiPutLabel      Importer.PutHelp, Importer.PutLabel
//	pmiEnd                       Importer.Close
//	pmiID, pmiInDom, pmiUnits    pdu.MakePMID, pdu.MakeInDom, pdu.MakeUnits
//	pmiErrStr                    Error.Error
//
// # What differs from the C library
//
// Numbers that a type cannot hold, and empty texts, are pdu.ErrConv: the C library makes other numbers of the former, and
// zeroes of the latter. A mark is a record whose time counts, so that times never go back. Instances have the names that
// they were added with, in whatever order. Instances below 0, instances of NoInDom, and results with metrics that were not
// added are refused. Metrics may be aggregates and events, too. Texts and labels that come before the first value
// are written with it.
package logimport
