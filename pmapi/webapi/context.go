package webapi

import "strconv"

// context opens a context, or describes the request's context.
func (q *query) context() error {
	if err := q.open(); err != nil {
		return err
	}
	if q.compat {
		q.out = append(strconv.AppendUint(append(q.out, `{"context":`...), uint64(q.s.id), 10), '}')
		return nil
	}
	l, err := q.newLabeller()
	if err != nil {
		return err
	}
	labels := mergeLabels(l.context)
	q.begin()
	q.out = appendString(append(q.out, `,"source":`...), sourceID(labels))
	q.out = appendString(append(q.out, `,"hostspec":`...), q.hostName())
	q.out = append(append(q.out, `,"labels":`...), labels...)
	q.out = append(q.out, '}')
	return nil
}
