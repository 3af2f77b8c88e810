package pmdaproc

import (
	"bytes"
	"errors"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A keyed has the numbers of a file with named numbers, by the index of the name in a list. Missing
// numbers are 0.
type keyed [20]uint64

// keyedFile makes the kind of such a file. keys are the names that are parsed.
func keyedFile(index int, c clusters, name string, keys map[string]int, read func(r *reader, id pid, kind int, name string) ([]byte, error)) *kind[keyed] {
	return &kind[keyed]{index, c, func(t *table, p *process, to *keyed) error {
		text, err := read(&t.files, p.id, index, name)
		if err != nil {
			return err
		}
		if len(text) == 0 {
			return pdu.ErrValue
		}
		to.parse(text, keys)
		return nil
	}}
}

// parse parses lines such as "Rss: 12 kB".
func (k *keyed) parse(text []byte, keys map[string]int) {
	clear(k[:])
	for line := range procfile.Lines(text) {
		name, rest, ok := bytes.Cut(line, colon)
		if !ok {
			continue
		}
		if at, ok := keys[string(name)]; ok {
			k[at], _, _ = procfile.CutUint(rest)
		}
	}
}

// A keyedRow is a metric of such a file. Its item is the index of the name.
type keyedRow struct {
	key, name, text string
	units           pdu.Units
}

// keysOf returns the indices of the names.
func keysOf(rows []keyedRow) map[string]int {
	keys := make(map[string]int, len(rows))
	for i, r := range rows {
		keys[r.key] = i
	}
	return keys
}

// addKeyed adds the metrics of such a file.
func (p *proc) addKeyed(k *kind[keyed], sem pdu.Sem, rows []keyedRow) {
	for i, r := range rows {
		addRows(p, k, row[keyed, uint64]{i, r.name, sem, r.units, r.text, func(k *keyed) (uint64, error) { return k[i], nil }})
	}
}

var smapsRows = []keyedRow{
	{"Rss", "smaps.rss", "Main memory that the process has", pdu.SpaceKByte},
	{"Pss", "smaps.pss", "Main memory of the process, its part of what it shares", pdu.SpaceKByte},
	{"Pss_Anon", "smaps.pss_anon", "What smaps.pss has of memory of no file", pdu.SpaceKByte},
	{"Pss_File", "smaps.pss_file", "What smaps.pss has of files", pdu.SpaceKByte},
	{"Pss_Shmem", "smaps.pss_shmem", "What smaps.pss has of shared memory", pdu.SpaceKByte},
	{"Shared_Clean", "smaps.shared_clean", "Shared memory that was not changed", pdu.SpaceKByte},
	{"Shared_Dirty", "smaps.shared_dirty", "Shared memory that was changed", pdu.SpaceKByte},
	{"Private_Clean", "smaps.private_clean", "Memory that is not shared and was not changed", pdu.SpaceKByte},
	{"Private_Dirty", "smaps.private_dirty", "Memory that is not shared and was changed", pdu.SpaceKByte},
	{"Referenced", "smaps.referenced", "Memory that is marked as used", pdu.SpaceKByte},
	{"Anonymous", "smaps.anonymous", "Memory of no file", pdu.SpaceKByte},
	{"LazyFree", "smaps.lazyfree", "Memory that the process needs no more, and that goes when memory is short", pdu.SpaceKByte},
	{"AnonHugePages", "smaps.anonhugepages", "Memory of no file in huge pages", pdu.SpaceKByte},
	{"ShmemPmdMapped", "smaps.shmempmdmapped", "Shared memory in huge pages", pdu.SpaceKByte},
	{"FilePmdMapped", "smaps.filepmdmapped", "Memory of files in huge pages", pdu.SpaceKByte},
	{"Shared_Hugetlb", "smaps.shared_hugetlb", "Shared memory of hugetlbfs", pdu.SpaceKByte},
	{"Private_Hugetlb", "smaps.private_hugetlb", "Memory of hugetlbfs that is not shared", pdu.SpaceKByte},
	{"Swap", "smaps.swap", "Memory that is swapped out", pdu.SpaceKByte},
	{"SwapPss", "smaps.swappss", "Memory that is swapped out, its part of what it shares", pdu.SpaceKByte},
	{"Locked", "smaps.locked", "Memory that is locked, and never swapped out", pdu.SpaceKByte},
}

// addSmaps adds the metrics of the file smaps_rollup. Processes without user memory have no values.
func (p *proc) addSmaps() {
	k := keyedFile(smapsFile, clusters{33, 34}, "smaps_rollup", keysOf(smapsRows), (*reader).readNew)
	read := k.read
	k.read = func(t *table, p *process, to *keyed) error {
		if err := read(t, p, to); err != nil {
			if errors.Is(valueError(err), pmda.NoValue) {
				return pmda.NoValue
			}
			return pdu.ErrAppVersion
		}
		return nil
	}
	p.addKeyed(k, pdu.SemInstant, smapsRows)
}

var ioRows = []keyedRow{
	{"rchar", "io.rchar", "Bytes that the process has read, also from memory or a terminal", pdu.SpaceByte},
	{"wchar", "io.wchar", "Bytes that the process has written, also to memory or a terminal", pdu.SpaceByte},
	{"syscr", "io.syscr", "System calls that read", pdu.UnitCount},
	{"syscw", "io.syscw", "System calls that write", pdu.UnitCount},
	{"read_bytes", "io.read_bytes", "Bytes that were read from disks for the process", pdu.SpaceByte},
	{"write_bytes", "io.write_bytes", "Bytes that were, or will be, written to disks for the process", pdu.SpaceByte},
	{"cancelled_write_bytes", "io.cancelled_write_bytes", "Bytes that will not be written to disks, since the process has truncated their files", pdu.SpaceByte},
}

var ioKind = keyedFile(ioFile, clusters{32, 58}, "io", keysOf(ioRows), (*reader).readKept)

// addIO adds the metrics of the file io.
func (p *proc) addIO() { p.addKeyed(ioKind, pdu.SemCounter, ioRows) }
