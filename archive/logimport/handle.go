package logimport

import "github.com/pcp-go/pcp/pdu"

// A Handle is a singular metric or an instance whose names were looked up already. The zero Handle
// is invalid.
type Handle struct{ c *cell }

// Handle returns the handle of an instance, or of a singular metric if instance is "". It remains
// valid after Next. Errors are those of Put for the same names. It is the counterpart of
// pmiGetHandle(3).
func (im *Importer) Handle(name, instance string) (Handle, error) {
	c, err := im.find(name, instance)
	return Handle{c}, err
}

// Put is like [Importer.Put]. On the zero Handle it returns an [Error].
func (h Handle) Put(a pdu.Atom) error {
	if h.c == nil {
		return errBadHandle
	}
	return h.c.atom(a)
}

// PutText is like [Importer.PutText]. On the zero Handle it returns an [Error]. It is the
// counterpart of pmiPutValueHandle(3).
func (h Handle) PutText(text string) error {
	if h.c == nil {
		return errBadHandle
	}
	return h.c.text(text)
}
