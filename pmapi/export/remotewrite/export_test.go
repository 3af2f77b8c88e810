package remotewrite

// Compress is for tests outside of the package.
func Compress(b []byte) []byte { return new(compressor).append(nil, b) }

// NewCompressor returns a function that appends the compressed form of its second argument.
func NewCompressor() func(b, src []byte) []byte { return new(compressor).append }

func (e *Encoder) Late() uint64         { return e.late }
func (e *Encoder) Waiting() int         { return e.samples }
func (e *Encoder) Discard()             { e.discard() }
func (e *Encoder) Collisions() []string { return e.pages.Collisions }
