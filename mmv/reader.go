package mmv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/pcp-go/pcp/pdu"
)

// A Source is the bytes of an MMV file: the memory of a Registry, or anything that has the two
// methods, such as a *bytes.Reader. For a path, use Open. ReadAt reads what is there now, while
// another program may write it; it may be called by several goroutines at once. Size is how many
// bytes there are.
type Source interface {
	io.ReaderAt
	Size() int64
}

// maxFile is the size limit of a file in bytes. Read reads the whole file at once, so this limits
// its memory, too.
const maxFile = 256 << 20

// A File has the metadata of an MMV file. A Reader or Snapshot reads the values.
//
// A File is the state at the time of Open or Read and never changes. If the file changes, Changed
// reports it and the file must be opened again. Several goroutines may use a File, and must not
// change what its fields point to.
type File struct {
	Path       string // "" if Read has read it
	Version    Version
	Generation uint64 // identifies the contents; other contents have another one
	NoPrefix   bool   // the name of the file is no part of the names of metrics
	PID        int    // process that must live for the file to count; 0 if there is no such process
	Cluster    int    // 0 to 4095; 0 lets the agent choose

	// Metrics are the metrics, in the file's order, each with a unique item. An agent does not
	// export one whose name is not valid in PCP.
	Metrics []FileMetric

	// InDoms are the instance domains, in the file's order. When two have the same serial, the
	// domain has the instances of both.
	InDoms []FileInDom

	Labels []FileLabel // in the file's order

	// Problems are the first 16 flaws, each an ErrFormat, and Flaws is the number of all flaws. For
	// each flaw something is missing above, such as a metric, an instance or a text. The rest can
	// be used.
	Problems []error
	Flaws    int

	src    Source
	close  func() error
	flags  fileFlags
	size   int64 // of the source when it was read
	values int64 // offset of the section of values
}

// maxProblems is the limit of File.Problems.
const maxProblems = 16

// A FileMetric is a metric of a file.
type FileMetric struct {
	Name  string   // without the prefix that an agent adds
	Item  int      // 0 to 1023, unique in the file
	Type  pdu.Type // may be a number that is no type: then there are no values but an error
	Sem   pdu.Sem
	Units pdu.Units
	InDom uint32 // serial of its instance domain, which the file need not have; 0 for a singular metric

	// Elapsed says that the values are microseconds of type pdu.Type64 and include an interval in
	// progress.
	Elapsed bool

	// Instances lists the instances with values, each once, in the file's order. The instance
	// domain need not have them. For a metric without a domain it is pdu.NoInst, or empty without
	// a value.
	Instances []pdu.InstID

	records []int32 // of each of them, which record of the section of values
	texts   texts
}

// Text returns the one-line text or the help text of the metric. The error is exactly pdu.ErrText
// if the metric has no such text, or pdu.ErrGeneric if the text has a flaw: see File.Problems.
func (m *FileMetric) Text(kind pdu.TextKind) (string, error) { return m.texts.get(kind) }

// A FileInDom is an instance domain of a file.
type FileInDom struct {
	Serial    uint32 // 0 to 4194303
	Instances []pdu.Instance
	texts     texts
}

// Text returns the one-line text or the help text of the domain, with the errors of
// FileMetric.Text.
func (d *FileInDom) Text(kind pdu.TextKind) (string, error) { return d.texts.get(kind) }

// A FileLabel is a label of a file.
type FileLabel struct {
	// Flags has one of the classes pdu.LabelInDom, LabelCluster, LabelItem and LabelInstances in a
	// good file, and maybe pdu.LabelOptional. Anything else is as the file has it.
	Flags    uint32
	Identity uint32     // of what the label is: serial of an instance domain, cluster, or item
	Instance pdu.InstID // for pdu.LabelInstances
	JSON     string     // as the file has it, {"name":value} in a good one; up to 243 bytes
}

// texts are a one-line text and a help text.
type texts struct{ short, long text }

// A text is a text of a metric or a domain. The zero text means that the file has no text.
type text struct {
	s     string
	state textState
}

type textState uint8

const (
	textNone textState = iota
	textThere
	textOutside // its offset is outside of the file, or the texts of the file are too long
)

func (t *texts) get(kind pdu.TextKind) (string, error) {
	x := &t.short
	if kind == pdu.TextHelp {
		x = &t.long
	}
	switch x.state {
	case textThere:
		return x.s, nil
	case textOutside:
		return "", pdu.ErrGeneric
	}
	return "", pdu.ErrText
}

// Open reads a file and leaves it open for its values; Close closes it. The file is read, never
// mapped into memory, so that its writer may cut it at any time. Errors: an *fs.PathError from the
// system; ErrFormat, and also ErrInFlux while the file is being written; fs.ErrInvalid if it is not
// a regular file.
func Open(path string) (*File, error) {
	// Nothing else is opened: a FIFO would wait, and a device may do anything. O_NONBLOCK is for
	// one that takes the place of the file between the two calls.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	h, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f, err := openHandle(path, h)
	if err != nil {
		h.Close()
		return nil, err
	}
	return f, nil
}

func notRegular(path string) error {
	return fmt.Errorf("mmv: %s is not a regular file: %w", path, fs.ErrInvalid)
}

func openHandle(path string, h *os.File) (*File, error) {
	info, err := h.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	f, err := read(path, osFile{h, info.Size()})
	if f != nil {
		f.close = h.Close
	}
	return f, err
}

// osFile is a file as a Source.
type osFile struct {
	*os.File
	size int64
}

func (f osFile) Size() int64 { return f.size }

// Read reads the MMV file that a source has. The File uses the source as long as values are read.
// Errors: those of the source's ReadAt; ErrFormat, and also ErrInFlux while the file is being
// written.
func Read(src Source) (*File, error) { return read("", src) }

func read(path string, src Source) (*File, error) {
	p := parser{f: &File{Path: path, src: src, size: src.Size()}}
	if p.f.size < headerLen {
		return nil, p.fail("header", p.f.size, "the file has %d bytes, a header %d", p.f.size, headerLen)
	}
	if p.f.size > maxFile {
		return nil, p.fail("header", 0, "the file has %d bytes, limit %d", p.f.size, maxFile)
	}
	if p.f.size <= pooledLen {
		buffer := buffers.Get().(*[pooledLen]byte)
		defer buffers.Put(buffer) // nothing in the File points to it
		p.pooled = buffer
	}
	if err := p.read(headerLen); err != nil {
		return nil, err
	}
	generation := p.f.Generation
	if err := p.read(p.f.size); err != nil {
		return nil, err
	}
	// A writer changes the generation before it changes records, except for values. So if the
	// generation is the same before and after the contents were read, then all of them belong to
	// it. They may include new records that a registry has just added.
	if changed, err := p.f.Changed(); err != nil {
		return nil, err
	} else if changed || p.f.Generation != generation {
		return nil, &formatError{file: path, section: "header", offset: headerGeneration1,
			problem: "the generation changed while the file was read", err: ErrInFlux}
	}
	p.sections()
	return p.f, nil
}

// buffers are memory for the files that are read, unless they have more than pooledLen bytes.
var buffers = sync.Pool{New: func() any { return new([pooledLen]byte) }}

const pooledLen = 64 << 10

// read reads the first n bytes, at least the header, and checks the header.
func (p *parser) read(n int64) error {
	if p.pooled != nil {
		p.b = p.pooled[:n]
	} else {
		p.b = make([]byte, n)
	}
	if got, err := p.f.src.ReadAt(p.b, 0); got < len(p.b) {
		return p.readError(got, err)
	}
	return p.header()
}

// readError is the error of a source that returned n bytes and err. A file that ends early has been
// cut since it was opened.
func (p *parser) readError(n int, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return &formatError{file: p.f.Path, section: "file", offset: int64(n),
			problem: fmt.Sprintf("the file ends here, it had %d bytes when it was opened", p.f.size), err: ErrInFlux}
	}
	return err
}

// Close closes the file if Open has opened it. Afterwards its values cannot be read.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// generations is memory for the generation numbers.
type generations [headerSections - headerGeneration1]byte

var generationsPool = sync.Pool{New: func() any { return new(generations) }}

// Changed reports whether anything except values has changed in the file since it was read: whether
// its generation number is another one, or missing because the file is too short. If so, values
// cannot be read until it is opened again. Most writers replace a file by another one with its
// name. Changed does not see that. The error is that of the source's ReadAt. Changed does not
// allocate.
func (f *File) Changed() (bool, error) {
	g := generationsPool.Get().(*generations)
	defer generationsPool.Put(g)
	return f.changed(g)
}

func (f *File) changed(g *generations) (bool, error) {
	n, err := f.src.ReadAt(g[:], headerGeneration1)
	if n < len(g) {
		if err == nil || errors.Is(err, io.EOF) {
			return true, nil
		}
		return true, err
	}
	return native.Uint64(g[:8]) != f.Generation || native.Uint64(g[8:]) != f.Generation, nil
}
