package webapi

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// indom describes an instance domain and its instances.
func (q *query) indom() error {
	name, byName := q.params.get("name")
	number, byNumber := q.params.get("indom")
	if !byName && !byNumber {
		return badRequest("required parameter is missing: name")
	}
	if err := q.open(); err != nil {
		return err
	}
	if err := q.checkMatch(); err != nil {
		return err
	}
	var d pdu.InDom
	var err error
	if byName {
		d, err = q.indomOf(name)
	} else if d, err = parseInDom(number); err != nil {
		err = badRequest("failed to lookup indom " + number)
	}
	if err != nil {
		return err
	}
	insts, err := q.selected(d)
	if err != nil {
		return err
	}
	return q.appendInDomReply(d, insts)
}

// indomOf returns the instance domain of a metric.
func (q *query) indomOf(name string) (pdu.InDom, error) {
	d, err := q.descOf(name)
	if err == nil && d.InDom == pdu.NoInDom {
		err = badRequest(name + " - metric has null indom")
	}
	return d.InDom, err
}

// descOf returns the descriptor of the metric with a name.
func (q *query) descOf(name string) (pdu.Desc, error) {
	infos := []metricInfo{{name: name}}
	err := q.lookUp(infos)
	if err == nil && infos[0].err != nil {
		err = badRequest(name + " - failed to lookup metric")
	}
	return infos[0].desc, err
}

// parseInDom reads an instance domain in dotted form, whose parts are cut to their widths, or as a
// 32-bit number. The number of pdu.NoInDom is an error.
func parseInDom(s string) (pdu.InDom, error) {
	domain, serial, dotted := strings.Cut(s, ".")
	if !dotted {
		n, err := parseNumber(s)
		if err == nil && pdu.InDom(n) == pdu.NoInDom {
			err = pdu.ErrInDom
		}
		return pdu.InDom(n), err
	}
	d, err := strconv.ParseUint(domain, 10, 31)
	if err != nil {
		return pdu.NoInDom, err
	}
	n, err := strconv.ParseUint(serial, 10, 31)
	return pdu.MakeInDom(pdu.Domain(d), int(n)), err
}

// selects reports whether the request has the parameter iname or instance.
func (q *query) selects() bool {
	names, _ := q.params.get("iname")
	numbers, _ := q.params.get("instance")
	return names != "" || numbers != ""
}

// selected returns the instances that the parameter iname or instance selects, or all instances if
// both are missing or empty.
func (q *query) selected(d pdu.InDom) ([]pdu.Instance, error) {
	list, _ := q.params.get("iname")
	numbers, _ := q.params.get("instance")
	selects := func(pdu.Instance) bool { return true }
	matches, err := q.matcher(list, "exact") // an invalid match is an error even without names
	if err != nil {
		return nil, err
	}
	switch {
	case list != "":
		selects = func(i pdu.Instance) bool { return matches(i.Name) }
	case numbers != "":
		ids, err := parseInstances(numbers)
		if err != nil {
			return nil, err
		}
		selects = func(i pdu.Instance) bool { return ids[i.ID] }
	}
	all, err := q.instances(d)
	if err != nil {
		return nil, err
	}
	var insts []pdu.Instance
	for n, i := range all {
		if n%64 == 0 && q.ctx.Err() != nil { // patterns may take long
			return nil, q.ctx.Err()
		}
		if selects(i) {
			insts = append(insts, i)
		}
	}
	return insts, nil
}

// instances returns the instances of a domain, and none if the domain is unknown. For an archive it
// returns all that ever existed.
func (q *query) instances(d pdu.InDom) ([]pdu.Instance, error) {
	get := q.s.c.Instances
	if _, err := q.s.c.ArchiveLabel(); err == nil {
		get = q.s.c.InstancesEver
	}
	all, err := get(q.ctx, d)
	if err != nil && isFatal(err) {
		return nil, err
	}
	return all, nil
}

// parseInstances reads a list of instance numbers.
func parseInstances(list string) (map[pdu.InstID]bool, error) {
	ids := map[pdu.InstID]bool{}
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		n, err := strconv.ParseUint(item, 10, 32)
		if err != nil {
			return nil, badRequest(item + " - invalid 'instance' parameter value")
		}
		ids[pdu.InstID(int32(uint32(n)))] = true
	}
	return ids, nil
}

func (q *query) appendInDomReply(d pdu.InDom, insts []pdu.Instance) error {
	l, err := q.newLabeller()
	if err != nil {
		return err
	}
	sets, err := l.ofInDom(d)
	if err != nil {
		return err
	}
	own, err := q.s.c.InstanceLabels(q.ctx, d)
	if err != nil && isFatal(err) {
		return err
	}
	ofInst := make(map[pdu.InstID]pdu.LabelSet, len(own))
	for _, set := range own {
		ofInst[set.Inst] = set
	}
	labels := mergeLabels(sets...)
	if q.compat {
		q.out = append(q.out, '{')
	} else {
		q.begin()
		q.out = append(q.out, ',')
	}
	q.out = q.appendInDom(append(q.out, `"indom":`...), d)
	q.out = append(append(q.out, `,"labels":`...), labels...)
	if err := q.appendInDomTexts(d); err != nil {
		return err
	}
	q.out = append(q.out, `,"instances":[`...)
	for n, i := range insts {
		if n > 0 {
			q.out = append(q.out, ',')
		}
		q.out = strconv.AppendUint(append(q.out, `{"instance":`...), uint64(uint32(i.ID)), 10)
		q.out = appendString(append(q.out, `,"name":`...), i.Name)
		merged := labels
		if set, ok := ofInst[i.ID]; ok && len(set.Labels) > 0 {
			merged = mergeLabels(append(sets[:len(sets):len(sets)], set)...)
		}
		q.out = append(append(append(q.out, `,"labels":`...), merged...), '}')
		if err := q.checkSize(); err != nil {
			return err
		}
	}
	q.out = append(q.out, "]}"...)
	return nil
}

// appendInDomTexts appends the help texts of a domain, if it has any.
func (q *query) appendInDomTexts(d pdu.InDom) error {
	for _, t := range []struct {
		key  string
		kind pdu.TextKind
	}{{`,"text-oneline":`, pdu.TextOneLine}, {`,"text-help":`, pdu.TextHelp}} {
		s, err := q.s.c.InDomText(q.ctx, d, t.kind)
		if err != nil && isFatal(err) {
			return err
		}
		if err == nil && s != "" {
			q.out = appendString(append(q.out, t.key...), s)
		}
	}
	return nil
}
