package dbpmda

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

func (p *parser) quit(t token) error {
	if t.kind != endOfLine {
		return errSyntax
	}
	return errQuit
}

// help [COMMAND]
func (p *parser) help(t token) error {
	if t.kind == endOfLine {
		p.d.printCommands()
		return nil
	}
	if t.kind != keyword || helpTexts[t.text] == "" && t.text != "label" {
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	p.d.printHelp(t.text)
	return nil
}

// desc METRIC
func (p *parser) desc(t token) error {
	id, err := p.metric(t)
	if err == nil {
		err = p.end()
	}
	if err == nil {
		p.d.desc(id)
	}
	return err
}

// fetch METRIC [[,] METRIC]...
func (p *parser) fetch(t token) error {
	var ids []pdu.PMID
	for {
		id, err := p.metric(t)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		t = p.next()
		if t.kind == endOfLine {
			p.d.fetch(ids)
			return nil
		}
		if t.kind == symbol && t.text == "," {
			t = p.next()
		}
	}
}

// store METRIC STRING
func (p *parser) store(t token) error {
	id, err := p.metric(t)
	if err != nil {
		return err
	}
	value := p.next()
	if value.kind != text {
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	p.d.store(id, value.text)
	return nil
}

// text METRIC, text indom INDOM
func (p *parser) text(t token) error {
	if !t.is("indom") {
		id, err := p.metric(t)
		if err == nil {
			err = p.end()
		}
		if err == nil {
			p.d.text("PMID: "+id.String(), uint32(id), pdu.TextPMID)
		}
		return err
	}
	dom, err := p.next().inDom()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		p.d.text("pmInDom: "+dom.String(), uint32(dom), pdu.TextInDom)
	}
	return err
}

// instance INDOM [NUMBER|NAME|STRING]
func (p *parser) instance(t token) error {
	dom, err := t.inDom()
	if err != nil {
		return err
	}
	r := pdu.InstanceReq{InDom: dom, Inst: pdu.NoInst}
	switch t := p.next(); t.kind {
	case endOfLine:
		p.d.instance(r)
		return nil
	case number:
		r.Inst = pdu.InstID(t.number())
	case name, text:
		r.Name = t.text
	default:
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	p.d.instance(r)
	return nil
}

// profile INDOM all|none, profile INDOM add|delete NUMBER
func (p *parser) profile(t token) error {
	dom, err := t.inDom()
	if err != nil {
		return err
	}
	what := p.next()
	var insts []pdu.InstID
	switch {
	case what.is("all"), what.is("none"):
	case what.is("add"), what.is("delete"):
		t := p.next()
		if t.kind != number {
			return errSyntax
		}
		insts = []pdu.InstID{pdu.InstID(t.number())}
	default:
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	if err := p.d.selection.change(dom, what.text == "none" || what.text == "delete", insts); err != nil {
		return err
	}
	p.d.selected = true
	return nil
}

// nameOf is the command "name N.N.N".
func (p *parser) nameOf(t token) error {
	if t.kind != triple {
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	id, _ := t.id()
	p.d.nameOf(id)
	return nil
}

// pmid NAME, children NAME, traverse NAME
func (p *parser) pmid(t token) error     { return p.ofName(t, p.d.pmid) }
func (p *parser) children(t token) error { return p.ofName(t, p.d.children) }
func (p *parser) traverse(t token) error { return p.ofName(t, p.d.traverse) }

func (p *parser) ofName(t token, do func(name string)) error {
	if t.kind != name {
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	do(t.text)
	return nil
}

// label context|domain, label indom|instances INDOM, label cluster CLUSTER, label item METRIC
func (p *parser) label(t token) error {
	if t.kind != keyword {
		return errSyntax
	}
	var target pdu.LabelReq
	var header string
	switch t.text {
	case "context":
		target.Class = pdu.LabelContext
	case "domain":
		target.Class = pdu.LabelDomain
		if a := p.d.agent; a != nil {
			target.Ident = uint32(a.domain)
		}
	case "indom", "instances":
		dom, err := p.next().inDom()
		if err != nil {
			return err
		}
		target, header = pdu.LabelReq{Ident: uint32(dom), Class: pdu.LabelInDom}, "pmInDom: "+dom.String()
		if t.text == "instances" {
			target.Class, header = pdu.LabelInstances, "Instances of "+header
		}
	case "cluster":
		id, err := p.next().cluster()
		if err != nil {
			return err
		}
		target = pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelCluster}
		header = "Cluster: " + id.String()
		if dot := strings.LastIndexByte(header, '.'); dot > 0 {
			header = header[:dot]
		}
	case "item":
		id, err := p.metric(p.next())
		if err != nil {
			return err
		}
		target, header = pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem}, "PMID: "+id.String()
	default:
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	p.d.label(header, target)
	return nil
}

// cluster returns a metric of the cluster that a token names.
func (t token) cluster() (pdu.PMID, error) {
	switch t.kind {
	case number:
		return pdu.PMID(t.number()), nil
	case pair:
		n := t.parts()
		return pdu.MakePMID(pdu.Domain(n[0]), n[1], 0), nil
	}
	return 0, errSyntax
}

// Attributes of host specifications that package pdu has no constants for.
const (
	attrSecure    pdu.Attribute = 2
	attrUserAuth  pdu.Attribute = 4
	attrAuthName  pdu.Attribute = 6
	attrPassword  pdu.Attribute = 7
	attrMethod    pdu.Attribute = 8
	attrUnixSock  pdu.Attribute = 10
	attrExclusive pdu.Attribute = 16
)

// attrAliases are additional names of attributes in host specifications.
var attrAliases = map[string]pdu.Attribute{
	"authorise": attrUserAuth, "authorize": attrUserAuth, "user": pdu.AttrUsername, "pass": attrPassword, "authmeth": attrMethod,
	"unix": attrUnixSock, "uid": pdu.AttrUserID, "gid": pdu.AttrGroupID, "pid": pdu.AttrProcessID,
}

// attribute returns the attribute with a name, 0 for an unknown name. The protocol and the
// authentication name can only be given by number.
func attribute(name string) pdu.Attribute {
	for key := attrSecure; key <= attrExclusive; key++ {
		if key.String() == name && key != attrAuthName {
			return key
		}
	}
	return attrAliases[name]
}

// attr NUMBER|STRING [STRING]
func (p *parser) attr(t token) error {
	var key pdu.Attribute
	switch t.kind {
	case number:
		key = pdu.Attribute(t.number())
		if key <= 0 || key > attrExclusive {
			return complaint(fmt.Sprintf("Attribute (%d) is not recognised", key))
		}
	case text:
		if key = attribute(t.text); key == 0 {
			return complaint(fmt.Sprintf("Attribute (%s) is not recognised", t.text))
		}
	default:
		return errSyntax
	}
	value := p.next()
	if value.kind == endOfLine {
		p.d.attr(key, "", "''")
		return nil
	}
	if value.kind != text {
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	p.d.attr(key, value.text, value.text)
	return nil
}

// namespace PATH
func (p *parser) namespace(t token) error {
	file, err := t.file()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		p.d.namespace(file)
	}
	return err
}

// wait SECONDS
func (p *parser) wait(t token) error {
	if t.kind != number {
		return errSyntax
	}
	if err := p.end(); err != nil {
		return err
	}
	p.d.out.Flush()
	time.Sleep(time.Duration(t.number()) * time.Second)
	return nil
}

// watch PATH
func (p *parser) watch(t token) error {
	file, err := t.file()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		p.d.watch(file)
	}
	return err
}

// debug all|none, debug [-]FLAG [[,] [-]FLAG]...
func (p *parser) debug(t token) error {
	if t.is("all") || t.is("none") {
		if err := p.end(); err != nil {
			return err
		}
		p.d.trace.setAll(t.text == "all")
		return nil
	}
	for {
		switch {
		case t.kind == number:
			p.d.trace.setBits(t.number())
		case t.kind == name, t.kind == minus, t.is("attr"), t.is("context"), t.is("fetch"), t.is("indom"), t.is("profile"):
			if !p.d.trace.set(t.text) {
				return complaint("Bad debug flag (" + t.text + ")")
			}
		default:
			return errSyntax
		}
		t = p.next()
		if t.kind == endOfLine {
			return nil
		}
		if t.kind == symbol && t.text == "," {
			t = p.next()
		}
	}
}

// open dso PATH INIT [DOMAIN], open pipe PATH [ARGUMENT]..., open socket ...
func (p *parser) open(t token) error {
	if t.kind != keyword {
		return errSyntax
	}
	switch t.text {
	case "dso":
		return p.openDSO()
	case "pipe":
		file, err := p.next().file()
		if err != nil {
			return err
		}
		args := p.scan.arguments()
		p.d.openPipe(file, args)
		return nil
	case "socket":
		return p.openSocket()
	}
	return errSyntax
}

func (p *parser) openDSO() error {
	file, err := p.next().file()
	if err != nil {
		return err
	}
	entry := p.next()
	if entry.kind != name {
		return errSyntax
	}
	var domain pdu.Domain
	switch t := p.next(); t.kind {
	case endOfLine:
	case number:
		domain = pdu.Domain(t.number() & 0x1ff)
		if err := p.end(); err != nil {
			return err
		}
	default:
		return errSyntax
	}
	p.d.openDSO(file, entry.text, domain)
	return nil
}

// openSocket reads an address. It does not read the end of the line.
func (p *parser) openSocket() error {
	t := p.next()
	if t.is("unix") {
		t = p.next()
	}
	if file, err := t.file(); err == nil {
		p.d.openUnix(file)
		return nil
	}
	family := t.text
	if !t.is("inet") && !t.is("ipv6") {
		return errSyntax
	}
	switch t := p.next(); t.kind {
	case number:
		p.d.openInet(family, int(t.number()))
	case text:
		port, err := servicePort(t.text)
		if err != nil {
			return complaint(fmt.Sprintf("Failed to map (%s) to a port number", t.text))
		}
		p.d.warn("Warning: Mapped %s to port number %d\n", t.text, port)
		p.d.openInet(family, port)
	default:
		return errSyntax
	}
	return nil
}
