package pmda

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// numbers has the numbers that an Agent has assigned. Agent.mu guards it.
//
// Metrics get the items of some clusters in turn, so that the number of a removed metric is reused
// as late as possible. At first only cluster 0 is used. When most of its items are in use, the
// number of clusters doubles. Further clusters are 4095, 4094 and so on, because programs are least
// likely to choose these. So the memory for removed metrics stays within a few times that of the
// existing ones.
type numbers struct {
	given    map[string]numbered // the latest number of a metric, by name
	names    map[ItemID]string   // the names in given, by item
	chosen   map[ItemID]bool     // items of cluster 0 that the program has chosen
	clusters int                 // number of clusters in use; 0 means 1
	next     int                 // the next candidate, an index into the items of these clusters
	got      int                 // how many numbers were assigned since next was 0

	serial  int          // serials below it are not assigned
	serials map[int]bool // that the program has chosen, even those of removed domains
}

// numbered is a metric whose number the Agent chose.
type numbered struct {
	item  ItemID
	typ   pdu.Type
	sem   pdu.Sem
	units pdu.Units
	indom pdu.InDom // in domain 0
}

// number chooses the number of a metric, or checks the number that the program chose.
func (t *tables) number(m *metric) (ItemID, error) {
	if m.item != 0 {
		return m.item, t.checkNumber(m.item)
	}
	n := &t.agent.numbers
	if g, ok := n.given[m.name]; ok && t.items.get(g.item.number()) == nil &&
		g == (numbered{g.item, m.typ, m.sem, m.units, m.indomID(0)}) {
		return g.item, nil
	}
	for {
		i, err := n.candidate()
		if err != nil {
			return 0, err
		}
		if !n.chosen[i] && t.items.get(i.number()) == nil {
			n.got++
			return i, nil
		}
	}
}

// itemsOfCluster is the number of items in a cluster.
const itemsOfCluster = pdu.MaxItem + 1

// candidate returns the next number that may be free.
func (n *numbers) candidate() (ItemID, error) {
	n.clusters = max(n.clusters, 1)
	if n.next == n.clusters*itemsOfCluster {
		switch {
		case n.got >= n.next/2:
			n.next = 0
		case n.clusters <= pdu.MaxCluster:
			n.clusters = min(2*n.clusters, pdu.MaxCluster+1)
		case n.got == 0:
			n.next = 0
			return 0, fmt.Errorf("all %d numbers are in use", n.clusters*itemsOfCluster)
		default:
			n.next = 0
		}
		n.got = 0
	}
	cluster, item := n.next/itemsOfCluster, n.next%itemsOfCluster
	if cluster > 0 {
		cluster = pdu.MaxCluster + 1 - cluster
	}
	n.next++
	return Item(cluster, item), nil
}

func (t *tables) checkNumber(i ItemID) error {
	if i&explicitItem == 0 || i&^explicitItem > pdu.MaxCluster<<10|pdu.MaxItem {
		return fmt.Errorf("ID out of range (0..%d, 0..%d): make it with Item", pdu.MaxCluster, pdu.MaxItem)
	}
	if other := t.items.get(i.number()); other != nil {
		return fmt.Errorf("the ID %d.%d is in use by %q", i.number()>>10, i&pdu.MaxItem, other.name)
	}
	return nil
}

// note remembers the number of a metric. chosen reports whether the Agent chose it.
func (n *numbers) note(m *metric, chosen bool) {
	if n.given == nil {
		n.given, n.names, n.chosen = map[string]numbered{}, map[ItemID]string{}, map[ItemID]bool{}
	}
	if before, ok := n.names[m.item]; ok {
		delete(n.given, before)
		delete(n.names, m.item)
	}
	if !chosen {
		if m.item.number() <= pdu.MaxItem {
			n.chosen[m.item] = true
		}
		return
	}
	if before, ok := n.given[m.name]; ok {
		delete(n.names, before.item)
	}
	n.given[m.name] = numbered{m.item, m.typ, m.sem, m.units, m.indomID(0)}
	n.names[m.item] = m.name
}

// noteSerial remembers the serial of an instance domain. chosen reports whether the Agent chose it.
func (n *numbers) noteSerial(serial int, chosen bool) {
	switch {
	case chosen:
		n.serial = max(n.serial, serial+1)
	case serial >= n.serial:
		if n.serials == nil {
			n.serials = map[int]bool{}
		}
		n.serials[serial] = true
	}
}
