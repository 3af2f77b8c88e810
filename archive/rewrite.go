package archive

import "time"

// WriteRecord writes a record of another archive. It is the counterpart of pmaPutLog. A record of
// the same version is copied unchanged, even if its time goes back. With the records of
// [Set.Records], and WriterOptions.IndexEvery below 0, the copy has the same bytes as the original,
// except for the label.
//
// A record of version 2 is converted to version 3, and one of version 3 to version 2 where version
// 2 has such a record. Index entries of another version are ignored, because their offsets are
// wrong in the copy. After a label, the next data record begins a volume. Errors are those of the
// methods of Record and of the other methods of w.
func (w *Writer) WriteRecord(r *Record) error {
	same := r.version == w.label.Version
	switch r.Kind {
	case KindLabel:
		if r.File.volume >= 0 {
			w.NewVolume()
		}
		return nil
	case KindResult, KindMark:
		if same {
			return w.putAny(r.Raw, r.Time)
		}
		if r.Kind == KindResult {
			return w.putResult(r)
		}
		rec, err := appendMark(w.buf[:0], w.label.Version, r.Time)
		if err != nil {
			return w.wrap(err)
		}
		w.buf = rec
		return w.putAny(rec, r.Time)
	case KindIndex:
		if !same {
			return nil
		}
		return w.putEntries(append(w.entries, r.Raw...))
	}
	if of := r.Version; of == 0 || of == w.label.Version {
		return w.copyMeta(r)
	}
	if r.Kind == KindLabels {
		l, err := r.Labels()
		if err != nil {
			return err
		}
		return w.WriteLabels(l)
	}
	d, err := r.InDom()
	if err != nil {
		return err
	}
	return w.WriteInDom(d)
}

// putResult writes a data record of another version.
func (w *Writer) putResult(r *Record) error {
	if err := r.resultInPlace(&w.other); err != nil {
		return err
	}
	rec, err := w.encode(w.copySets(&w.other))
	if err != nil {
		return w.wrap(err)
	}
	return w.putAny(rec, r.Time)
}

// copyMeta copies a metadata record as it is.
func (w *Writer) copyMeta(r *Record) error {
	switch r.Kind {
	case KindDesc:
		m, err := r.Metric()
		if err != nil {
			return err
		}
		w.know(m)
		w.described = true
	case KindInDom, KindInDomDelta:
		d, err := r.InDom()
		if err != nil {
			return err
		}
		w.remember(&d)
		w.described = true
	}
	w.pending = append(w.pending, r.Raw...)
	return nil
}

// WriteRaw writes a data record that the program has encoded in the layout of w's version, with its
// length words and the time t. WriteRaw does not check the record, and accepts a time that goes
// back. It is like WriteRecord for programs that change records themselves.
func (w *Writer) WriteRaw(raw []byte, t time.Time) error { return w.putAny(raw, t) }
