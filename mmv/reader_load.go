package mmv

import "github.com/pcp-go/pcp/pdu"

// Load reads all that the values of a metric need. After it, Value of them fails neither with
// ErrChanged nor with an error of the source, so that what a caller has begun to write of them can
// be completed.
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

// Err reports why the file cannot be read since Reset: ErrChanged or an error of the source. It
// returns nil if the file can be read.
func (r *Reader) Err() error { return r.err }
