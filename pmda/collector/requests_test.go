package collector_test

import (
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

// Domains of the agents in the tests of requests.
const (
	wellDomain    = 10 // replies
	unknownDomain = 11 // has no agent
	deadDomain    = 12 // configured, but could not be started
	fencedDomain  = 13
	failDomain    = 14 // fails with an error of its own
	panicDomain   = 15
	brokenDomain  = 16 // fails as if its connection were broken
	lateDomain    = 17 // not ready
	wrongDomain   = 18 // fails with an invalid code
)

// requestNames has a dynamic subtree and a metric for each domain.
const requestNames = `
root { well gone dead fenced fail panics broken late wrong }
well { m 10:0:1 m2 10:0:1 sub dynamic 10:*:* }
well.sub { x 10:0:2 }
gone { m 11:0:1 dynamic 11:*:* }
dead { m 12:0:1 dynamic 12:*:* }
fenced { m 13:0:1 dynamic 13:*:* }
fail { m 14:0:1 dynamic 14:*:* }
panics { m 15:0:1 dynamic 15:*:* }
broken { m 16:0:1 dynamic 16:*:* }
late { m 17:0:1 dynamic 17:*:* }
wrong { m 18:0:1 dynamic 18:*:* }
`

var requestDomains = map[pdu.Domain]string{
	wellDomain: "well", unknownDomain: "gone", deadDomain: "dead", fencedDomain: "fenced", failDomain: "fail",
	panicDomain: "panics", brokenDomain: "broken", lateDomain: "late", wrongDomain: "wrong",
}

// hostAll returns a Server with an agent of every kind.
func hostAll(t *testing.T) *collector.Server {
	t.Helper()
	tree, err := pmns.Parse("names", strings.NewReader(requestNames))
	if err != nil {
		t.Fatal(err)
	}
	s := collectortest.CloseAtEnd(t, &collector.Server{Names: tree, NoRestart: true, Logger: slog.New(collectortest.NewMessages())})
	for d, failing := range map[pdu.Domain]func() error{
		wellDomain:   nil,
		fencedDomain: nil,
		failDomain:   func() error { return pdu.ErrAppVersion },
		panicDomain:  func() error { panic("on purpose") },
		brokenDomain: func() error { return &pdu.OpError{Op: "write", Err: syscall.EPIPE} },
		lateDomain:   func() error { return pdu.ErrAgain },
		wrongDomain:  func() error { return pdu.Error(5) },
	} {
		collectortest.Add(t, s, &collectortest.Agent{Name: requestDomains[d], Domain: d, Failing: failing})
	}
	s.Fence(fencedDomain)
	if s.StartAgent(pmcdconf.Agent{Name: "dead", Domain: deadDomain, Kind: "pipe", Argv: []string{"/nonexistent/agent"}}) == nil {
		t.Fatal("an agent that does not exist was started")
	}
	return s
}

// TestRequests checks that every kind of request to every kind of agent gets C pmcd's reply.
func TestRequests(t *testing.T) {
	s := hostAll(t)
	pmid := func(d pdu.Domain) pdu.PMID { return pdu.MakePMID(d, 0, 1) }
	indom := func(d pdu.Domain) pdu.InDom { return pdu.MakeInDom(d, 3) }
	label := func(class pdu.LabelClass, ident func(d pdu.Domain) uint32) func(pdu.Domain) pdu.PDU {
		return func(d pdu.Domain) pdu.PDU { return pdu.LabelReq{Ident: ident(d), Class: class} }
	}
	pmidIdent := func(d pdu.Domain) uint32 { return uint32(pmid(d)) }
	indomIdent := func(d pdu.Domain) uint32 { return uint32(indom(d)) }
	// Requests differ in the reply of a good agent and in the error for a domain without an agent.
	for _, test := range []struct {
		name    string
		ask     func(d pdu.Domain) pdu.PDU
		want    string
		unknown pdu.Error
	}{
		{"DESC_REQ", func(d pdu.Domain) pdu.PDU { return pdu.DescReq{PMID: pmid(d)} },
			"{Desc:{PMID:10.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}}", pdu.ErrPMID},
		{"DESC_IDS", func(d pdu.Domain) pdu.PDU { return pdu.DescsReq{PMIDs: []pdu.PMID{pmid(d)}} },
			"{Descs:[{PMID:10.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}]}", pdu.ErrPMID},
		{"INSTANCE_REQ", func(d pdu.Domain) pdu.PDU { return pdu.InstanceReq{InDom: indom(d), Inst: pdu.NoInst} },
			"{InDom:10.3 Instances:[{ID:1 Name:one} {ID:2 Name:two}]}", pdu.ErrInDom},
		{"INSTANCE_REQ by id", func(d pdu.Domain) pdu.PDU { return pdu.InstanceReq{InDom: indom(d), Inst: 1} },
			"{InDom:10.3 Instances:[{ID:-1 Name:one}]}", pdu.ErrInDom},
		{"INSTANCE_REQ by name", func(d pdu.Domain) pdu.PDU {
			return pdu.InstanceReq{InDom: indom(d), Inst: pdu.NoInst, Name: "one"}
		}, "{InDom:10.3 Instances:[{ID:1 Name:}]}", pdu.ErrInDom},
		{"TEXT_REQ", func(d pdu.Domain) pdu.PDU {
			return pdu.TextReq{Ident: pmidIdent(d), Text: pdu.TextPMID | pdu.TextOneLine}
		}, fmt.Sprintf("{Ident:%d Text:text 5}", pmidIdent(wellDomain)), pdu.ErrPMID},
		{"TEXT_REQ of an instance domain", func(d pdu.Domain) pdu.PDU {
			return pdu.TextReq{Ident: indomIdent(d), Text: pdu.TextInDom | pdu.TextHelp}
		}, fmt.Sprintf("{Ident:%d Text:text 10}", indomIdent(wellDomain)), pdu.ErrPMID},
		{"LABEL_REQ domain", label(pdu.LabelDomain, func(d pdu.Domain) uint32 { return uint32(d) }),
			`labels of 0xa 1{"class":2}`, pdu.ErrNoAgent},
		{"LABEL_REQ indom", label(pdu.LabelInDom, indomIdent), `labels of 0x2800003 1{"class":4}`, pdu.ErrInDom},
		{"LABEL_REQ cluster", label(pdu.LabelCluster, pmidIdent), `labels of 0x2800001 1{"class":8}`, pdu.ErrPMID},
		{"LABEL_REQ item", label(pdu.LabelItem, pmidIdent), `labels of 0x2800001 1{"class":16}`, pdu.ErrPMID},
		{"LABEL_REQ instances", label(pdu.LabelInstances, indomIdent), `labels of 0x2800003 1{"class":32} 2{"class":32}`, pdu.ErrInDom},
		{"PMNS_NAMES", func(d pdu.Domain) pdu.PDU {
			return pdu.NameList{Names: []string{requestDomains[d] + ".dynamic.x"}}
		}, "{Status:1 PMIDs:[10.1.14]}", pdu.ErrNoAgent},
		{"PMNS_IDS", func(d pdu.Domain) pdu.PDU { return pdu.PMIDList{PMIDs: []pdu.PMID{pdu.MakePMID(d, 9, 9)}} },
			"{Names:[well.dynamic.reverse] Statuses:[] Err:No error}", pdu.ErrNoAgent},
		{"PMNS_CHILD", func(d pdu.Domain) pdu.PDU { return pdu.ChildReq{Name: requestDomains[d] + ".dynamic.x"} },
			"{Names:[a b] Statuses:[] Err:No error}", pdu.ErrNoAgent},
		{"PMNS_CHILD with status", func(d pdu.Domain) pdu.PDU {
			return pdu.ChildReq{Name: requestDomains[d] + ".dynamic", Status: true}
		}, "{Names:[a b] Statuses:[0 1] Err:No error}", pdu.ErrNoAgent},
		{"PMNS_TRAVERSE", func(d pdu.Domain) pdu.PDU { return pdu.TraverseReq{Name: requestDomains[d] + ".dynamic.x"} },
			"{Names:[well.dynamic.x.a well.dynamic.x.b] Statuses:[] Err:No error}", pdu.ErrName},
		{"RESULT", func(d pdu.Domain) pdu.PDU { return collectortest.Storing(pmid(d)) }, "success", pdu.ErrNoAgent},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := collectortest.Connect(t, s)
			got := map[string]string{}
			for d, name := range requestDomains {
				got[name] = g.Request(test.ask(d))
				s.EndPanicPause(panicDomain)
			}
			if diff := cmp.Diff(repliesByAgent(test.name, test.want, test.unknown), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// repliesByAgent returns the reply of each agent to a request: well is that of good agents, and
// unknown the error for a domain without an agent.
func repliesByAgent(request, well string, unknown pdu.Error) map[string]string {
	fail := func(e pdu.Error) string { return "error: " + e.Error() }
	want := map[string]string{
		"well":   well,
		"gone":   fail(unknown),
		"dead":   fail(pdu.ErrNoAgent),
		"fenced": fail(pdu.ErrPMDAFenced),
		"fail":   fail(pdu.ErrAppVersion),
		"panics": fail(pdu.ErrGeneric),
		"broken": fail(pdu.Error(-32)),
		"late":   fail(pdu.ErrAgain),
		"wrong":  fail(pdu.ErrGeneric),
	}
	switch request {
	case "RESULT":
		want["fenced"] = "success" // a fence does not block stores
	case "PMNS_TRAVERSE":
		for name := range want { // for any failure
			if name != "well" && name != "late" {
				want[name] = fail(pdu.ErrName)
			}
		}
	}
	return want
}

// TestRequestsDirect checks requests that need no agent, and those of several domains.
func TestRequestsDirect(t *testing.T) {
	s := hostAll(t)
	g := collectortest.Connect(t, s)
	id := pdu.MakePMID(wellDomain, 0, 1)
	gone := pdu.MakePMID(unknownDomain, 0, 1)
	fail := func(e pdu.Error) string { return "error: " + e.Error() }
	ids := func(ids ...pdu.PMID) []pdu.PMID { return ids }
	for _, test := range []struct {
		name string
		ask  pdu.PDU
		want string
	}{
		{"several descriptors", pdu.DescsReq{PMIDs: ids(id, gone, pdu.MakePMID(failDomain, 0, 1))},
			"{Descs:[{PMID:10.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}" +
				" {PMID:PM_ID_NULL Type:32 InDom:0.0 Sem:??? Units:} {PMID:PM_ID_NULL Type:32 InDom:0.0 Sem:??? Units:}]}"},
		{"an instance that is not there", pdu.InstanceReq{InDom: pdu.MakeInDom(wellDomain, 3), Inst: 9}, fail(pdu.ErrInst)},
		{"no instance domain", pdu.InstanceReq{InDom: pdu.NoInDom, Inst: pdu.NoInst}, fail(pdu.ErrInDom)},
		{"text of nothing", pdu.TextReq{Ident: uint32(id), Text: pdu.TextHelp}, fail(pdu.ErrPMID)},
		{"two label classes", pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem | pdu.LabelCluster}, fail(pdu.ErrType)},
		{"labels of a domain out of range", pdu.LabelReq{Ident: 1 << 31, Class: pdu.LabelDomain}, fail(pdu.ErrNoAgent)},
		{"a name", pdu.NameList{Names: []string{"well.sub.x"}}, "{Status:1 PMIDs:[10.0.2]}"},
		{"names", pdu.NameList{Names: []string{"well.m", "nothing", "well", "gone.dynamic.x", "well.dynamic.y"}},
			"{Status:2 PMIDs:[10.0.1 PM_ID_NULL PM_ID_NULL PM_ID_NULL 10.1.14]}"},
		{"names of which one is not ready", pdu.NameList{Names: []string{"well.m", "late.dynamic.x"}}, fail(pdu.ErrAgain)},
		{"names of which one is fenced", pdu.NameList{Names: []string{"well.m", "fenced.dynamic.x"}}, fail(pdu.ErrPMDAFenced)},
		{"an unknown name", pdu.NameList{Names: []string{"well.nothing"}}, fail(pdu.ErrName)},
		{"an inner name", pdu.NameList{Names: []string{"well.sub"}}, fail(pdu.ErrNonLeaf)},
		{"no names", pdu.NameList{}, fail(pdu.ErrTooSmall)},
		{"names of a metric", pdu.PMIDList{PMIDs: ids(id)}, "{Names:[well.m2 well.m] Statuses:[] Err:No error}"},
		{"names of two metrics", pdu.PMIDList{PMIDs: ids(id, id)}, fail(pdu.ErrIPC)},
		{"names of a derived metric", pdu.PMIDList{PMIDs: ids(pdu.MakePMID(511, 0, 1))}, fail(pdu.ErrNoAgent)},
		{"names of a dynamic root", pdu.PMIDList{PMIDs: ids(pdu.MakePMID(511, wellDomain, 0))}, fail(pdu.ErrNoAgent)},
		{"children", pdu.ChildReq{Name: "well"}, "{Names:[m m2 sub dynamic] Statuses:[] Err:No error}"},
		{"children with status", pdu.ChildReq{Name: "well", Status: true},
			"{Names:[m m2 sub dynamic] Statuses:[0 0 1 1] Err:No error}"},
		{"children of a leaf", pdu.ChildReq{Name: "well.m"}, "{Names:[] Statuses:[] Err:No error}"},
		{"children of nothing", pdu.ChildReq{Name: "well.nothing"}, fail(pdu.ErrName)},
		{"traverse", pdu.TraverseReq{Name: "well"},
			"{Names:[well.m well.m2 well.sub.x well.dynamic.a well.dynamic.b] Statuses:[] Err:No error}"},
		{"traverse a leaf", pdu.TraverseReq{Name: "well.m"}, "{Names:[well.m] Statuses:[] Err:No error}"},
		{"traverse nothing", pdu.TraverseReq{Name: "nothing"}, fail(pdu.ErrName)},
		{"traverse with a dead agent", pdu.TraverseReq{Name: "dead"}, "{Names:[dead.m dead.dynamic] Statuses:[] Err:No error}"},
		{"traverse with a fenced agent", pdu.TraverseReq{Name: "fenced"}, "{Names:[fenced.m fenced.dynamic] Statuses:[] Err:No error}"},
		{"traverse with no agent", pdu.TraverseReq{Name: "gone"}, "{Names:[gone.m gone.dynamic] Statuses:[] Err:No error}"},
		{"traverse with a failing agent", pdu.TraverseReq{Name: "fail"}, "{Names:[fail.m fail.dynamic] Statuses:[] Err:No error}"},
		{"traverse with an agent that is not ready", pdu.TraverseReq{}, fail(pdu.ErrAgain)},
		{"store to a dead agent and a good one", collectortest.Storing(pdu.MakePMID(deadDomain, 0, 1), id), fail(pdu.ErrNoAgent)},
		{"store to an agent that is not ready and no agent", collectortest.Storing(pdu.MakePMID(lateDomain, 0, 1), gone, id), fail(pdu.ErrNoAgent)},
		{"store to an agent that is not ready and one that fails", collectortest.Storing(pdu.MakePMID(lateDomain, 0, 1), pdu.MakePMID(failDomain, 0, 1)),
			fail(pdu.ErrAgain)},
		{"store to a failing agent and a good one", collectortest.Storing(pdu.MakePMID(failDomain, 0, 1), id, pdu.MakePMID(failDomain, 0, 2)),
			fail(pdu.ErrAppVersion)},
		{"store nothing", collectortest.Storing(), fail(pdu.ErrTooSmall)},
		{"a reply in place of a request", pdu.DescReply{}, fail(pdu.ErrIPC)},
		{"an attribute", pdu.Attr{Key: pdu.AttrContainer, Value: []byte("x")}, fail(pdu.ErrIPC)},
		{"an error", pdu.Status{Code: pdu.ErrNotConn}, fail(pdu.ErrIPC)},
		{"still there", pdu.NameList{Names: []string{"well.m"}}, "{Status:1 PMIDs:[10.0.1]}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := g.Request(test.ask); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	want := []string{"RESULT 10.0.1 -1=7", "RESULT 10.0.1 -1=7", "RESULT 10.0.1 -1=7"}
	var got []string
	for _, text := range s.LocalAgent(wellDomain).(*collectortest.Agent).Stored {
		got = append(got, strings.Replace(text, "HIGHRES_RESULT", "RESULT", 1))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored in spite of failures elsewhere (-want +got):\n%s", diff)
	}
}
