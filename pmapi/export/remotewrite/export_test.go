package remotewrite

type Encoder = encoder

// LimitSamples limits the samples of a message.
func (e *Exporter) LimitSamples(n int) { e.encoder.MaxSamples = n }

// Compress is for tests outside of the package.
func Compress(b []byte) []byte { return new(compressor).append(nil, b) }

// NewCompressor returns a function that appends the compressed form of its second argument.
func NewCompressor() func(b, src []byte) []byte { return new(compressor).append }

func (e *encoder) Late() uint64         { return e.late }
func (e *encoder) Waiting() int         { return e.samples }
func (e *encoder) Discard()             { e.discard() }
func (e *encoder) Collisions() []string { return e.pages.Collisions }
