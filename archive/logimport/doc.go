// Package logimport makes archives from values that come from elsewhere: logs, spreadsheets, the
// output of other tools. It is the counterpart of LOGIMPORT(3), the C library libpcp_import.
//
//	label := archive.Label{Host: "web1", TimeZone: "UTC"}
//	im, err := logimport.New("web1", archive.WriterOptions{Label: label})
//	if err != nil {
//		return err
//	}
//	disks := pdu.MakeInDom(logimport.Domain, 0) // later checks of err are omitted
//	im.AddMetric("disk.dev.read", pdu.Desc{Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter})
//	im.AddInstance(disks, "sda", 0)
//	reads, err := im.Handle("disk.dev.read", "sda")
//	for _, line := range lines {
//		reads.Put(pdu.Uint64(line.reads))
//		err = im.Write(line.time) // one data record
//	}
//	err = im.Close()
//
// # Put values
//
// Importer.Put takes a value by the names of its metric and instance, Importer.PutText a value as
// text. A [Handle] looks up the names once. Once each handle has been used, putting a value through
// it does not allocate.
//
// Each Write writes values and metadata to the files; [archive.Writer] describes when the files are
// a valid archive. Help texts and labels that come before the first value are written with it.
//
// # Differences from the C library
//
//   - A number out of the type's range, or an empty text for a number, is pdu.ErrConv. The C
//     library stores another number for the former and zero for the latter.
//   - Times never go back. The C library accepts a record with a time before that of the last mark.
//   - Instances may be added in any order and keep their names.
//   - Negative instances, instances of NoInDom, and results with metrics that were not added are
//     refused.
//   - Metrics may also be aggregates and events.
//
// # Names in the C library
//
//	pmiStart                     New; with inherit Importer.Next
//	pmiSetHostname, pmiSetTimezone, pmiSetVersion
//	                             archive.WriterOptions.Label
//	pmiUseContext                an Importer is a value
//	pmiAddMetric, pmiAddInstance Importer.AddMetric, Importer.AddInstance
//	pmiPutValue                  Importer.PutText for texts, Importer.Put
//	pmiGetHandle                 Importer.Handle
//	pmiPutValueHandle            Handle.PutText for texts, Handle.Put
//	pmiWrite, pmiHighResWrite    Importer.Write
//	pmiPutResult, pmiPutMark     Importer.PutResult, Importer.PutMark
//	pmiPutText, pmiPutLabel      Importer.PutHelp, Importer.PutLabel
//	pmiEnd                       Importer.Close
//	pmiID, pmiInDom, pmiUnits    pdu.MakePMID, pdu.MakeInDom, pdu.MakeUnits
//	pmiErrStr                    Error.Error
package logimport
