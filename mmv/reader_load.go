package mmv

import "github.com/pcp-go/pcp/pdu"

// Load reads everything that the values of a metric need. If it succeeds, Value returns neither
// ErrChanged nor an error of the source for them, until another metric is read. A caller that
// writes the values one by one thus need not stop halfway.
func (r *Reader) Load(m *FileMetric) error {
	last := int64(-1)
	for i, rec := range m.records {
		off := r.f.values + int64(rec)*valueLen
		if m.Type == pdu.TypeString {
			if _, err := r.Value(m, i); r.err != nil {
				return err
			}
		} else if off/pageLen != last {
			last = off / pageLen
			if _, err := r.at(off, valueLen); err != nil {
				return err
			}
		}
	}
	return nil
}

// Err returns the first error that reading the file has had since Reset: ErrChanged or an error of
// the source. It returns nil if there was no such error.
func (r *Reader) Err() error { return r.err }
