package otlp

type Encoder = encoder

// AppendEnd exports appendFinal for tests.
func (e *encoder) AppendEnd(b []byte) []byte { return e.appendFinal(b) }
