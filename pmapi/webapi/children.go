package webapi

// children lists the components directly below a name.
func (q *query) children() error {
	_, prefix, _ := q.params.first("prefix", "name")
	if err := q.open(); err != nil {
		return err
	}
	children, err := q.s.c.Children(q.ctx, prefix)
	if err != nil {
		return badPrefix("child traversal failed - ", err)
	}
	q.begin()
	q.out = appendString(append(q.out, `,"name":`...), prefix)
	for _, kind := range []struct {
		key  string
		leaf bool
	}{{`,"leaf":[`, true}, {`],"nonleaf":[`, false}} {
		q.out = append(q.out, kind.key...)
		first := true
		for _, c := range children {
			if c.Leaf != kind.leaf {
				continue
			}
			if !first {
				q.out = append(q.out, ',')
			}
			q.out, first = appendString(q.out, c.Name), false
		}
	}
	q.out = append(q.out, "]}"...)
	return q.checkSize()
}

// badPrefix returns the error of a request about a name, with prefix before the cause.
func badPrefix(prefix string, err error) error {
	if isFatal(err) {
		return err
	}
	return badRequest(prefix + text(err))
}
