package procfile

import "bytes"

// GroupedNumbers are the numbers of a file that names them and groups the names, such as by the
// protocols of /proc/net/snmp. Only numbers whose names were given to Index before the first
// reading are kept.
type GroupedNumbers struct {
	// Unlimited is the name of the number that is -1 if there is no limit. The value is then read
	// as a number with all bits set. All other numbers are counts.
	Unlimited string

	groups map[string]map[string]int
	vals   []uint64
	known  []bool // found in this reading
}

// Index returns the index of a number, which it adds if it is new.
func (n *GroupedNumbers) Index(group, name string) (at int) {
	if n.groups == nil {
		n.groups = map[string]map[string]int{}
	}
	if n.groups[group] == nil {
		n.groups[group] = map[string]int{}
	}
	at, ok := n.groups[group][name]
	if !ok {
		at = len(n.vals)
		n.groups[group][name] = at
		n.vals, n.known = append(n.vals, 0), append(n.known, false)
	}
	return at
}

// Get returns the number at an index. It is not ok if the last reading has not found
// it.
func (n *GroupedNumbers) Get(at int) (v uint64, ok bool) { return n.vals[at], n.known[at] }

// set parses the number of a name.
func (n *GroupedNumbers) set(group map[string]int, name, number []byte) {
	if at, ok := group[string(name)]; ok {
		if string(name) == n.Unlimited && string(number) == "-1" {
			n.vals[at], n.known[at] = 1<<64-1, true
			return
		}
		n.vals[at], n.known[at] = ParseUint(number)
	}
}

// ParseTable parses pairs of lines, of names and numbers:
//
//	Udp: InDatagrams NoPorts
//	Udp: 1275 0
//
// If one line of a pair has more fields than the other, the group has no numbers, because names
// and numbers cannot be matched.
func (n *GroupedNumbers) ParseTable(text []byte) error {
	clear(n.known)
	for names, rest, ok := CutLine(text); ok; names, rest, ok = CutLine(rest) {
		group, names, _ := bytes.Cut(names, []byte(":"))
		numbers, after, ok := CutLine(rest)
		again, numbers, _ := bytes.Cut(numbers, []byte(":"))
		if !ok || !bytes.Equal(group, again) {
			continue // one of the two is missing
		}
		rest = after
		if places := n.groups[string(group)]; places != nil {
			n.parseColumns(places, names, numbers)
		}
	}
	return nil
}

func (n *GroupedNumbers) parseColumns(group map[string]int, names, numbers []byte) {
	for {
		var name, number []byte
		name, names = CutField(names)
		number, numbers = CutField(numbers)
		if len(name) == 0 && len(number) == 0 {
			return
		}
		if len(name) == 0 || len(number) == 0 {
			for _, at := range group {
				n.known[at] = false
			}
			return
		}
		n.set(group, name, number)
	}
}

// ParsePairs parses lines of names, each with its number behind it, like
// "TCP: inuse 6 orphan 0".
func (n *GroupedNumbers) ParsePairs(text []byte) error {
	clear(n.known)
	for line := range Lines(text) {
		group, line, _ := bytes.Cut(line, []byte(":"))
		places := n.groups[string(group)]
		for name, line := CutField(line); len(name) > 0; name, line = CutField(line) {
			var number []byte
			number, line = CutField(line)
			n.set(places, name, number)
		}
	}
	return nil
}

// ParseList parses lines of a name and a number, like "Ip6InReceives 34". They are of
// the group "".
func (n *GroupedNumbers) ParseList(text []byte) error {
	clear(n.known)
	places := n.groups[""]
	for line := range Lines(text) {
		name, line := CutField(line)
		number, line := CutField(line)
		if more, _ := CutField(line); len(more) == 0 {
			n.set(places, name, number)
		}
	}
	return nil
}
