package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// indexEvery is the default of WriterOptions.IndexEvery.
const indexEvery = 100_000

// WriterOptions describe a new archive and when it begins another volume. The zero value makes an
// archive of version 3, of this host and process, with one volume.
type WriterOptions struct {
	// Label is the label of the files. A Version of 0 means 3, a PID of 0 this process, and a zero
	// Start the time of the first data record. An empty Host means the name of this host, and an
	// empty TimeZone that of this process. Volume is the number of the first volume. Append ignores
	// Label: an archive keeps its own.
	Label Label

	// A volume has at most VolumeSize bytes or VolumeRecords data records, or spans at most
	// VolumeTime between its first and last data record; 0 means no limit. A record longer than
	// VolumeSize has a volume to itself. A volume never exceeds the 2^31-1 bytes that version 2 can
	// index.
	VolumeSize    int64
	VolumeRecords int
	VolumeTime    time.Duration

	// IndexEvery is the number of bytes of a volume between index entries. The index also has an
	// entry for the first record of a volume, for each record with new metrics or instances, and
	// for the end. 0 means 100,000, as in PCP's writers. With a negative number, the index has only
	// the entries of Writer.WriteIndex.
	IndexEvery int64

	// Buffer is the number of bytes of data records that the Writer collects before a goroutine
	// writes them; 0 means that each record is written at once. It is for programs that make an
	// archive in one run. The files are a valid archive only after Flush, Sync and Close. A call
	// may return the error of an earlier write. A Writer that is not closed leaks the goroutine.
	Buffer int
	// Direct hides write system calls from the Go scheduler, on Linux. This saves waking a thread
	// for each write, which is most of its cost in a program that is idle between records. But if a
	// write blocks, as on a slow disk, other goroutines of the program may have to wait. Use it
	// only in programs that do nothing but record.
	Direct bool
	// IndexInstances adds no index entry for records with only new metrics, but still for records
	// with new instances. IndexEvery then counts from the end of the record of an entry, not from
	// its start. The archives of pmlogger(1) are like this.
	IndexInstances bool
	// Storage stores the files instead of a directory; nil means a directory. The base name then
	// only identifies the archive in errors, and Buffer, Direct and Sync have no effect. Append
	// ignores it.
	Storage Storage
}

// A Writer writes an archive. Programs that record, import, extract and rewrite use it.
//
//	o := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}
//	w, err := o.Create("web1/20261123")
//	…
//	err = w.WriteMetric(archive.Metric{Desc: desc, Names: []string{"disk.dev.read"}})
//	_, err = w.UpdateInDom(t, desc.InDom, instances) // a record if the instances have changed
//	values.Time = t
//	err = w.WriteSets(&values) // a pdu.ResultWriter
//	…
//	err = w.Close()
//
// A Writer holds metadata back until the data record that it belongs to. Then it writes the
// metadata, the data record and the index entry, in this order and each with one write to its file.
// So the files are a valid archive up to some record at any time, even if the process is killed.
// Before the first data record there are no files, unless Begin makes them.
//
// Only the last record of a file can be incomplete. Readers stop before such a record in a volume
// or the index. If the process is killed while the system copies a write of metadata, that record
// can be in the metadata. Then readers need Options.Growing, and the C library cannot open the
// archive, until WriterOptions.Append has removed the record.
//
// A call that fails, as on a full disk, changes nothing and may be repeated: the Writer removes
// what was written in part. Errors are *[Error]. Index entries that could not be written are
// written with a later record; only Flush and Close return that error.
//
// Times must not go back: an earlier data record is pdu.ErrLogRec. A Writer is for one goroutine at
// a time.
type Writer struct {
	base  string
	opts  WriterOptions
	label Label // Volume is the current volume

	meta, data, index *outFile // nil until the file exists

	last    time.Time  // of the last data record; zero before the first
	place   IndexEntry // of the last data record
	records int        // data records in the volume
	first   time.Time  // time of the first data record in the volume
	begin   bool       // the next data record begins a volume

	pending   []byte // metadata that has not been written yet
	described bool   // metrics or instances are in pending
	metaMark  int64  // where the metadata of the next data record begins
	indexAt   int64  // offset in the volume where the next index entry is due
	entries   []byte // index entries that have not been written yet
	indexed   bool   // the index has an entry for the last data record
	ended     bool   // the index has its last entry
	closed    bool
	closing   error    // of volumes that were closed
	unsynced  []string // volumes that were closed since the last Sync
	newNames  bool     // files were created since the last Sync
	made      []string // paths of the files, in the order of creation

	metrics map[pdu.PMID]*Metric
	indoms  map[pdu.InDom][]pdu.Instance // the latest instances, ascending by ID
	checked map[pdu.PMID][]pdu.PMID      // see checkDescribed
	buf     []byte
	copied  pdu.ResultWriter
	other   pdu.Result // a result of another version
}

// Create begins an archive. It creates no file before the first data record. If one of the files
// exists, the error is fs.ErrExist.
func (o WriterOptions) Create(base string) (*Writer, error) {
	w := newWriter(base, o)
	var err error
	if w.label, err = o.Label.withDefaults(); err != nil {
		return nil, inFile(base, err)
	}
	w.metaMark = w.label.Len()
	if o.Storage != nil {
		return w, nil
	}
	for _, volume := range []int{VolumeIndex, VolumeMeta, w.label.Volume} {
		path := w.path(volume)
		if _, err := os.Lstat(path); err == nil {
			return nil, inFile(path, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, inFile(path, withoutPath(err))
		}
	}
	return w, nil
}

// newWriter returns a Writer without files.
func newWriter(base string, o WriterOptions) *Writer {
	if o.IndexEvery == 0 {
		o.IndexEvery = indexEvery
	}
	return &Writer{base: base, opts: o, metrics: map[pdu.PMID]*Metric{}, indoms: map[pdu.InDom][]pdu.Instance{}, checked: map[pdu.PMID][]pdu.PMID{}}
}

// withDefaults sets the fields of a label that are zero to their defaults, and checks the label.
func (l Label) withDefaults() (Label, error) {
	if l.Version == 0 {
		l.Version = 3
	}
	if l.PID == 0 {
		l.PID = int32(os.Getpid())
	}
	if l.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return l, err
		}
		l.Host = host
	}
	if l.TimeZone == "" {
		l.TimeZone = localTimeZone(time.Now())
	}
	if l.Volume < 0 {
		return l, flawed(pdu.ErrLabel, "first volume %d", l.Volume)
	}
	check := l
	if check.Start.IsZero() {
		check.Start = time.Unix(0, 0)
	}
	_, err := check.Append(nil)
	return l, err
}

// path returns the path of a file of the archive.
func (w *Writer) path(volume int) string {
	switch volume {
	case VolumeMeta:
		return w.base + ".meta"
	case VolumeIndex:
		return w.base + ".index"
	}
	return fmt.Sprint(w.base, ".", volume)
}

// Label returns the label of the current volume. Start is the zero time until it is known.
func (w *Writer) Label() Label { return w.label }

// Size returns the size of the current volume in bytes, or 0 if the volume does not exist yet.
func (w *Writer) Size() int64 {
	if w.data == nil {
		return 0
	}
	return w.data.size
}

// Last returns the time of the last data record, or the zero time before the first one.
func (w *Writer) Last() time.Time { return w.last }

// Place returns index entries for WriteIndex. last is the entry of the last data record, or the
// zero IndexEntry before the first one. next is the entry of the next data record, except that its
// Time is that of the last data record, and its Meta is the end of all metadata so far.
func (w *Writer) Place() (last, next IndexEntry) {
	next = IndexEntry{Time: w.last, Volume: w.label.Volume, Meta: w.label.Len(), Data: w.label.Len()}
	if w.meta != nil {
		next.Meta = w.meta.size
	}
	next.Meta += int64(len(w.pending))
	switch {
	case w.begin:
		next.Volume++
	case w.data != nil:
		next.Data = w.data.size
	}
	return w.place, next
}

// Metric returns a metric that the archive has, even from before Append. The names must not be
// changed.
func (w *Writer) Metric(id pdu.PMID) (Metric, bool) {
	m, ok := w.metrics[id]
	if !ok {
		return Metric{}, false
	}
	return *m, true
}

// WriteSets writes a data record with the value sets of s, at s.Time. Errors: pdu.ErrPMID for a
// metric without a descriptor, pdu.ErrNoData if s has no metric, no Time, or a Changed other than
// 0. s does not change and may be used again.
func (w *Writer) WriteSets(s *pdu.ResultWriter) error {
	if s.Len() == 0 || s.Time.IsZero() || s.Changed != 0 {
		return w.wrap(flawed(pdu.ErrNoData, "data record without a time or metrics"))
	}
	rec, err := w.encode(s)
	if err == nil {
		err = w.checkDescribed(rec)
	}
	if err != nil {
		return w.wrap(err)
	}
	return w.put(rec, s.Time)
}

// encode returns a data record, in a buffer of w.
func (w *Writer) encode(s *pdu.ResultWriter) ([]byte, error) {
	return w.frame(s.Append(w.beginRecord(), dataFormat(w.label.Version)))
}

// beginRecord returns the start of a data record, with room for its length, in a buffer of w.
func (w *Writer) beginRecord() []byte {
	var head [pdu.HeaderLen]byte
	return append(w.buf[:0], head[:]...)
}

// frame completes a data record with its lengths.
func (w *Writer) frame(b []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	const at = pdu.HeaderLen - 4 // offset of the length; pdu expects a PDU header before it
	n := len(b) - at + 4
	if n > MaxRecord {
		return nil, flawed(pdu.ErrTooBig, "data record of %d bytes, limit %d", n, MaxRecord)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(n))
	w.buf = binary.BigEndian.AppendUint32(b, uint32(n))
	return w.buf[at:], nil
}

// checkDescribed checks that all metrics of a data record have descriptors. It remembers lists of
// metrics by the first metric, because most records have the same metrics as an earlier one.
func (w *Writer) checkDescribed(rec []byte) error {
	at := 4 + timeLen(w.label.Version)
	n, sets := int(binary.BigEndian.Uint32(rec[at:])), rec[at+4:]
	first := pdu.PMID(binary.BigEndian.Uint32(sets))
	known := w.checked[first]
	list := known
	for i := range n {
		id, values := pdu.PMID(binary.BigEndian.Uint32(sets)), int32(binary.BigEndian.Uint32(sets[4:]))
		if i >= len(list) || list[i] != id {
			if w.metrics[id] == nil {
				return flawed(pdu.ErrPMID, "metric %v in a data record has no descriptor", id)
			}
			list = append(list[:i], id)
		}
		sets = sets[8:]
		if values > 0 {
			sets = sets[4+8*int(values):]
		}
	}
	if len(list) != len(known) {
		if len(w.checked) >= maxChecked {
			clear(w.checked)
		}
		w.checked[first] = list
	}
	return nil
}

// maxChecked limits the lists of metrics that a Writer remembers.
const maxChecked = 64

// WriteResult is like WriteSets for a result that was fetched or read. It ignores r.Changed.
func (w *Writer) WriteResult(r *pdu.Result) error {
	if r.Len() == 0 || r.Time.IsZero() {
		return w.wrap(flawed(pdu.ErrNoData, "data record without a time or metrics"))
	}
	rec, err := w.frame(r.AppendFormat(w.beginRecord(), dataFormat(w.label.Version)))
	if err == nil {
		err = w.checkDescribed(rec)
	}
	if err != nil {
		return w.wrap(err)
	}
	return w.put(rec, r.Time)
}

// copySets copies the value sets of a result to a buffer of w.
func (w *Writer) copySets(r *pdu.Result) *pdu.ResultWriter {
	s := &w.copied
	s.Reset()
	s.Time = r.Time
	for _, set := range r.All() {
		s.Copy(set)
	}
	return s
}

// WriteMark writes a mark: values after it do not continue those before it. C programs write a mark
// a millisecond after the last data record.
func (w *Writer) WriteMark(t time.Time) error {
	if t.IsZero() {
		return w.wrap(flawed(pdu.ErrNoData, "mark without a time"))
	}
	rec, err := appendMark(w.buf[:0], w.label.Version, t)
	if err != nil {
		return w.wrap(err)
	}
	w.buf = rec
	return w.put(rec, t)
}

// Begin creates the files before the first data record, with their labels and the metadata so far.
// Begin fails with pdu.ErrLabel unless WriterOptions.Label has a Start. The archive then exists
// even if it never gets a data record. Begin does nothing if the files exist.
func (w *Writer) Begin() error {
	switch {
	case w.closed:
		return w.wrap(fs.ErrClosed)
	case w.data != nil:
		return nil
	case w.label.Start.IsZero():
		return w.wrap(flawed(pdu.ErrLabel, "label without a start"))
	}
	index := w.label
	index.Volume = VolumeIndex
	f, err := w.createFile(&index, w.entries)
	if err != nil {
		return err
	}
	w.index, w.entries = f, w.entries[:0]
	if err := w.writeMeta(); err != nil {
		return err
	}
	if w.data, err = w.createFile(&w.label, nil); err != nil {
		return err
	}
	w.metaMark = w.meta.size
	return nil
}

// NewVolume makes the next data record the first one of a new volume.
func (w *Writer) NewVolume() { w.begin = w.data != nil }

// BeginVolume begins a new volume immediately. Its file has only a label until the next data
// record. Before the first volume BeginVolume does nothing. If it fails, the current volume
// continues. After Close the error wraps fs.ErrClosed.
func (w *Writer) BeginVolume() error {
	if w.closed {
		return w.wrap(fs.ErrClosed)
	}
	if w.data == nil {
		return nil
	}
	if err := w.beginVolume(nil); err != nil {
		return err
	}
	w.records, w.indexAt = 0, 0 // the index gets an entry for the first record
	return nil
}

// put writes a data record that is not before the last one.
func (w *Writer) put(rec []byte, t time.Time) error {
	if t.Before(w.last) {
		return w.wrap(flawed(pdu.ErrLogRec, "data record of %v after one of %v", t.UTC(), w.last.UTC()))
	}
	return w.putAny(rec, t)
}

// putAny writes the pending metadata, a data record, and its index entry.
func (w *Writer) putAny(rec []byte, t time.Time) error {
	if w.closed {
		return w.wrap(fs.ErrClosed)
	}
	start := w.label.Start
	if start.IsZero() {
		w.label.Start = t
	}
	if err := w.writeMeta(); err != nil {
		w.forgetStart(start)
		return err
	}
	begins := w.data == nil || w.begin || w.full(len(rec), t)
	off := w.label.Len()
	if begins {
		if err := w.beginVolume(rec); err != nil {
			w.forgetStart(start)
			return err
		}
		w.records, w.first = 0, t
	} else {
		off = w.data.size
		if err := w.data.append(rec); err != nil {
			return err
		}
		if w.records == 0 { // the first record after Begin or BeginVolume
			w.first = t
		}
	}
	w.records++
	w.last, w.ended = t, false
	w.place = IndexEntry{Time: t, Volume: w.label.Volume, Meta: w.metaMark, Data: off}
	w.indexed = w.opts.IndexEvery > 0 && (begins || w.described || w.data.size > w.indexAt)
	if w.indexed {
		w.addEntry(w.place)
		w.indexAt = off + w.opts.IndexEvery
		if w.opts.IndexInstances {
			w.indexAt = w.data.size + w.opts.IndexEvery
		}
	}
	w.described, w.metaMark = false, w.meta.size
	_ = w.writeIndex() // a later record writes the entry if this fails
	return nil
}

// forgetStart restores the start of the label after the first data record has failed, unless a file
// already has the label.
func (w *Writer) forgetStart(start time.Time) {
	if w.meta == nil {
		w.label.Start = start
	}
}

// full reports whether a record of n bytes must go to another volume.
func (w *Writer) full(n int, t time.Time) bool {
	limit := maxFileLen(w.label.Version)
	if w.opts.VolumeSize > 0 {
		limit = min(limit, w.opts.VolumeSize)
	}
	o := &w.opts
	return w.data.size > limit-int64(n) ||
		o.VolumeRecords > 0 && w.records >= o.VolumeRecords ||
		o.VolumeTime > 0 && w.records > 0 && t.Sub(w.first) > o.VolumeTime
}

// beginVolume creates a volume with its first record, or with none, and closes the previous volume.
func (w *Writer) beginVolume(rec []byte) error {
	next := w.label
	if w.data != nil {
		next.Volume++
	}
	f, err := w.createFile(&next, rec)
	if err != nil {
		return err
	}
	if w.data != nil && w.opts.Storage == nil {
		w.unsynced = append(w.unsynced, w.data.path)
	}
	w.closing = errors.Join(w.closing, w.data.close()) // the record has been written nevertheless
	w.data, w.label, w.begin = f, next, false
	if w.opts.Buffer > 0 && f.stored == nil {
		f.behind = newBehind(f.f, f.size, w.opts.Buffer)
	}
	return nil
}

// createFile creates a file with a label and the bytes after it.
func (w *Writer) createFile(l *Label, b []byte) (*outFile, error) {
	if w.opts.Storage != nil {
		return w.createStored(l, b)
	}
	path := w.path(l.Volume)
	head, err := l.Append(nil)
	if err != nil {
		return nil, inRecord(path, 0, 0, err)
	}
	f, err := createFile(path, append(head, b...))
	if err != nil {
		return f, err
	}
	w.newNames, w.made = true, append(w.made, path)
	if w.opts.Direct {
		f.writeDirectly()
	}
	return f, nil
}

// writeMeta writes the pending metadata.
func (w *Writer) writeMeta() error {
	if w.meta == nil {
		l := w.label
		l.Volume = VolumeMeta
		f, err := w.createFile(&l, w.pending)
		if err != nil {
			return err
		}
		w.meta, w.pending = f, w.pending[:0]
		return nil
	}
	if len(w.pending) == 0 {
		return nil
	}
	if limit := maxFileLen(w.label.Version); w.meta.size > limit-int64(len(w.pending)) {
		return inRecord(w.meta.path, w.meta.size, -1, flawed(pdu.ErrTooBig, "metadata of more than %d bytes", limit))
	}
	if err := w.meta.append(w.pending); err != nil {
		return err
	}
	w.pending = w.pending[:0]
	return nil
}

// addEntry adds an entry to the pending index entries.
func (w *Writer) addEntry(e IndexEntry) {
	if b, err := appendEntry(w.entries, w.label.Version, &e); err == nil {
		w.entries = b // cannot fail after the checks of the data record
	}
}

// writeIndex writes the pending index entries.
func (w *Writer) writeIndex() error {
	if len(w.entries) == 0 {
		return nil
	}
	if w.index == nil {
		l := w.label
		l.Volume = VolumeIndex
		f, err := w.createFile(&l, w.entries)
		if err != nil {
			return err
		}
		w.index = f
	} else if err := w.index.append(w.entries); err != nil {
		return err
	}
	w.entries = w.entries[:0]
	return nil
}

// WriteIndex writes an index entry, in addition to those that w makes. An entry for the last data
// record is not written twice, and then Close adds no entry for the end.
func (w *Writer) WriteIndex(e IndexEntry) error {
	if e == w.place {
		w.ended = true
		if w.indexed {
			return nil
		}
	}
	b, err := appendEntry(w.entries, w.label.Version, &e)
	if err != nil {
		return w.wrap(err)
	}
	return w.putEntries(b)
}

// putEntries sets the pending index entries, and writes them if a volume exists.
func (w *Writer) putEntries(entries []byte) error {
	if w.closed {
		return w.wrap(fs.ErrClosed)
	}
	w.entries = entries
	if w.data != nil {
		_ = w.writeIndex() // a later record writes them if this fails
	}
	return nil
}

// Flush writes the metadata that is held back, which then does not belong to the next data record.
// Before the first data record it does nothing.
func (w *Writer) Flush() error {
	if w.closed {
		return w.wrap(fs.ErrClosed)
	}
	if w.data == nil {
		return nil
	}
	if err := w.writeMeta(); err != nil {
		return err
	}
	w.metaMark = w.meta.size
	return errors.Join(w.data.flush(), w.writeIndex())
}

// FlushIndex is like Flush and writes an index entry for t, which leads to the next records. The
// next data record then has no index entry for the flushed metrics and domains.
func (w *Writer) FlushIndex(t time.Time) error {
	if err := w.Flush(); err != nil || w.data == nil {
		return err
	}
	w.described = false
	return w.WriteIndex(IndexEntry{Time: t, Volume: w.label.Volume, Meta: w.meta.size, Data: w.data.size})
}

// Sync is like Flush and writes the files to stable storage, also volumes that have ended since the
// last Sync.
func (w *Writer) Sync() error {
	err := w.Flush()
	if w.closed {
		return err
	}
	for _, f := range []*outFile{w.meta, w.data, w.index} {
		err = errors.Join(err, f.sync())
	}
	err = errors.Join(err, w.syncEnded())
	if err == nil && w.newNames {
		err = syncDir(filepath.Dir(w.base))
		w.newNames = err != nil
	}
	return err
}

// syncEnded writes volumes that have ended to stable storage.
func (w *Writer) syncEnded() error {
	for len(w.unsynced) > 0 {
		f, err := openOut(w.unsynced[0])
		if err == nil {
			err = errors.Join(f.sync(), f.close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another program may have compressed it
			return err
		}
		w.unsynced = w.unsynced[1:]
	}
	return nil
}

// Close writes the metadata held back and the last index entry, which leads to the end, and closes
// the files. Metadata without any data record is lost.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	if w.data != nil && w.opts.IndexEvery > 0 && !w.ended {
		w.addEntry(IndexEntry{Time: w.last, Volume: w.label.Volume, Meta: w.meta.size + int64(len(w.pending)), Data: w.data.size})
		w.ended = true
	}
	err := w.Flush()
	w.closed = true
	return errors.Join(err, w.closing, w.data.close(), w.index.close(), w.meta.close())
}

// Paths returns the paths of the files that w has created, in the order of creation.
func (w *Writer) Paths() []string { return slices.Clone(w.made) }

// Discard closes w, if it is open, and removes only the files that w has created. Programs call it
// so as not to leave an incomplete archive. Errors are those of the file system. Do not call it
// after Append.
func (w *Writer) Discard() error {
	if !w.closed {
		w.abandon()
	}
	var errs []error
	for _, path := range w.made {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, inFile(path, withoutPath(err)))
		}
	}
	w.made = nil
	return errors.Join(errs...)
}

// wrap adds the base name of the archive to err.
func (w *Writer) wrap(err error) error { return inFile(w.base, err) }
