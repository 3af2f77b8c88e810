package pmdalinux

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addKSM adds the metrics of kernel samepage merging.
func (l *linux) addKSM() {
	for item, m := range []struct {
		name, file string
		units      pdu.Units
		text       string
	}{
		{"mem.ksm.full_scans", "full_scans", pdu.UnitCount, "Times that all memory that may be merged has been looked through"},
		{"mem.ksm.merge_across_nodes", "merge_across_nodes", pdu.NoUnits, "Whether pages of different nodes are merged: 1 if so, else 0"},
		{"mem.ksm.pages_shared", "pages_shared", pdu.NoUnits, "Pages that stand for several equal ones"},
		{"mem.ksm.pages_sharing", "pages_sharing", pdu.NoUnits, "Pages saved, since shared ones stand for them"},
		{"mem.ksm.pages_to_scan", "pages_to_scan", pdu.NoUnits, "Pages to look at before each rest"},
		{"mem.ksm.pages_unshared", "pages_unshared", pdu.UnitCount, "Pages that have no equal, but are looked at for one again and again"},
		{"mem.ksm.pages_volatile", "pages_volatile", pdu.NoUnits, "Pages that change too often to be merged"},
		{"mem.ksm.run_state", "run", pdu.NoUnits, "Whether pages are merged: 0 no, 1 yes, 2 no and those merged are parted"},
		{"mem.ksm.sleep_time", "sleep_millisecs", pdu.TimeMSec, "The rest after each pages_to_scan pages"},
	} {
		addNumberFiles(l, numberMetric[uint64]{file: "sys/kernel/mm/ksm/" + m.file, Metric: pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(69, item), Units: m.units, Text: m.text,
		}})
	}
}
