package pdu_test

import (
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

func TestTextTarget(t *testing.T) {
	id, d := pdu.MakePMID(60, 1, 2), pdu.MakeInDom(60, 3)
	for _, c := range []struct {
		target pdu.TextTarget
		req    pdu.TextReq
		text   string
	}{
		{pdu.TextOfMetric(id), pdu.TextReq{Ident: uint32(id), Text: pdu.TextPMID | pdu.TextHelp}, "metric 60.1.2"},
		{pdu.TextOfInDom(d), pdu.TextReq{Ident: uint32(d), Text: pdu.TextInDom | pdu.TextHelp}, "instance domain 60.3"},
		{pdu.TextTarget{}, pdu.TextReq{Text: pdu.TextHelp}, "no text target"},
	} {
		if got := c.target.Request(pdu.TextHelp); got != c.req {
			t.Errorf("request of %v: %+v, want %+v", c.target, got, c.req)
		}
		if got := c.req.Target(); got != c.target {
			t.Errorf("target of %+v: %v, want %v", c.req, got, c.target)
		}
		if got := c.target.String(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
	}
	if got, ok := pdu.TextOfMetric(id).PMID(); got != id || !ok {
		t.Error(got, ok)
	}
	if got, ok := pdu.TextOfMetric(id).InDom(); got != pdu.NoInDom || ok {
		t.Error(got, ok)
	}
	if got, ok := pdu.TextOfInDom(d).InDom(); got != d || !ok {
		t.Error(got, ok)
	}
	if got, ok := pdu.TextOfInDom(d).PMID(); got != pdu.NoPMID || ok {
		t.Error(got, ok)
	}
}

func TestLabelTarget(t *testing.T) {
	id, d := pdu.MakePMID(60, 1, 2), pdu.MakeInDom(60, 3)
	for _, c := range []struct {
		target pdu.LabelTarget
		req    pdu.LabelReq
		domain pdu.Domain
		pmid   pdu.PMID
		indom  pdu.InDom
		text   string
	}{
		{pdu.LabelsOfContext(), pdu.LabelReq{Ident: 0xffffffff, Class: pdu.LabelContext}, pdu.DynamicDomain, pdu.NoPMID, pdu.NoInDom, "context"},
		{pdu.LabelsOfDomain(60), pdu.LabelReq{Ident: 60, Class: pdu.LabelDomain}, 60, pdu.NoPMID, pdu.NoInDom, "domain 60"},
		{pdu.LabelsOfInDom(d), pdu.LabelReq{Ident: uint32(d), Class: pdu.LabelInDom}, 60, pdu.NoPMID, d, "indom 60.3"},
		{pdu.LabelsOfCluster(id), pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelCluster}, 60, id, pdu.NoInDom, "cluster 60.1"},
		{pdu.LabelsOfItem(id), pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem}, 60, id, pdu.NoInDom, "metric 60.1.2"},
		{pdu.LabelsOfInstances(d), pdu.LabelReq{Ident: uint32(d), Class: pdu.LabelInstances}, 60, pdu.NoPMID, d, "instances 60.3"},
		{pdu.LabelReq{Ident: 7, Class: 0xc3}.Target(), pdu.LabelReq{Ident: 7, Class: 3}, 0, pdu.NoPMID, pdu.NoInDom, "class 0x3 of 0x7"},
	} {
		if got := c.target.Request(); got != c.req {
			t.Errorf("request of %v: %+v, want %+v", c.target, got, c.req)
		}
		if got := c.req.Target(); got != c.target {
			t.Errorf("target of %+v: %v, want %v", c.req, got, c.target)
		}
		if c.target.Domain() != c.domain || c.target.PMID() != c.pmid || c.target.InDom() != c.indom {
			t.Errorf("%v: domain %v, metric %v, instance domain %v", c.target, c.target.Domain(), c.target.PMID(), c.target.InDom())
		}
		if got := c.target.String(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
	}
}
