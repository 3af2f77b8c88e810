package otlp

// AppendEnd is for tests outside of the package.
func (e *Encoder) AppendEnd(b []byte) []byte { return e.appendFinal(b) }
