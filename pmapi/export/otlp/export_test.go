package otlp

type Encoder = encoder

// AppendEnd is for tests outside of the package.
func (e *encoder) AppendEnd(b []byte) []byte { return e.appendFinal(b) }
