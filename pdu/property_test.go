package pdu_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

var (
	anyPMID  = rapid.Map(rapid.Uint32(), func(v uint32) pdu.PMID { return pdu.PMID(v) })
	anyInDom = rapid.Map(rapid.Uint32(), func(v uint32) pdu.InDom { return pdu.InDom(v) })
	anyInst  = rapid.Map(rapid.Int32(), func(v int32) pdu.InstID { return pdu.InstID(v) })
	anyCode  = rapid.Map(rapid.OneOf(rapid.Int32Range(-999, -1), rapid.Int32Range(-30000, -12345)),
		func(v int32) pdu.Error { return pdu.Error(v) })
	anyName  = rapid.StringOfN(rapid.RuneFrom([]rune("abz.09_é~ ")), 0, 20, -1)
	anyBytes = rapid.SliceOfN(rapid.Byte(), 0, 40)
	somePMID = rapid.SliceOfN(anyPMID, 1, 20)
	anyDesc  = rapid.Custom(func(t *rapid.T) pdu.Desc {
		return pdu.Desc{PMID: anyPMID.Draw(t, "pmid"), Type: pdu.Type(rapid.Int32().Draw(t, "type")), InDom: anyInDom.Draw(t, "indom"),
			Sem: pdu.Sem(rapid.Int32().Draw(t, "sem")), Units: pdu.Units(rapid.Uint32().Draw(t, "units"))}
	})
	anyLabelSet = rapid.Custom(func(t *rapid.T) pdu.LabelSet {
		s := pdu.LabelSet{Inst: anyInst.Draw(t, "inst")}
		if rapid.Bool().Draw(t, "failed") {
			s.Err = anyCode.Draw(t, "code")
			return s
		}
		s.JSON = anyBytes.Draw(t, "json")
		within := func(limit int, what string) (off, n int) {
			off = rapid.IntRange(0, len(s.JSON)).Draw(t, what)
			return off, rapid.IntRange(0, min(len(s.JSON)-off, limit)).Draw(t, what+" length")
		}
		for range rapid.IntRange(0, 3).Draw(t, "labels") {
			no, nn := within(255, "name")
			vo, vn := within(65535, "value")
			s.Labels = append(s.Labels, pdu.Label{NameOff: uint16(no), NameLen: uint8(nn),
				Flags: pdu.LabelFlags(rapid.Uint8().Draw(t, "flags")), ValueOff: uint16(vo), ValueLen: uint16(vn)})
		}
		return s
	})
)

// gens make PDUs of each type.
var gens = map[string]*rapid.Generator[codec]{
	"Status": gen(func(t *rapid.T) codec { return &pdu.Status{Code: pdu.Error(rapid.Int32().Draw(t, "code"))} }),
	"Challenge": gen(func(t *rapid.T) codec {
		if rapid.Bool().Draw(t, "refused") {
			return &pdu.Challenge{Code: anyCode.Draw(t, "code")}
		}
		return &pdu.Challenge{Version: rapid.Uint8().Draw(t, "version"), Features: pdu.Features(rapid.Uint16().Draw(t, "features"))}
	}),
	"Creds": gen(func(t *rapid.T) codec {
		p := pdu.Creds{Others: rapid.SliceOfN(rapid.Uint32Range(2<<24, math.MaxUint32), 0, 4).Draw(t, "others")}
		if len(p.Others) == 0 || rapid.Bool().Draw(t, "has a version") {
			p.Version = rapid.Uint8Min(1).Draw(t, "version")
			p.Features = pdu.Features(rapid.Uint16().Draw(t, "features"))
		}
		return &p
	}),
	"Fetch": gen(func(t *rapid.T) codec {
		return &pdu.Fetch{HighRes: rapid.Bool().Draw(t, "high resolution"), Context: rapid.Int32().Draw(t, "context"),
			PMIDs: somePMID.Draw(t, "pmids")}
	}),
	"SetProfile": gen(func(t *rapid.T) codec {
		p := pdu.SetProfile{Context: rapid.Int32Min(0).Draw(t, "context")}
		p.Profile.Exclude = rapid.Bool().Draw(t, "exclude")
		doms := rapid.SliceOfNDistinct(anyInDom, 0, 5, rapid.ID[pdu.InDom]).Draw(t, "indoms")
		slices.Sort(doms)
		for _, d := range doms {
			ids := rapid.SliceOfNDistinct(anyInst, 0, 5, rapid.ID[pdu.InstID]).Draw(t, "insts")
			slices.Sort(ids)
			p.Profile.InDoms = append(p.Profile.InDoms, pdu.InDomProfile{InDom: d, Exclude: rapid.Bool().Draw(t, "exclude"), Insts: ids})
		}
		return &p
	}),
	"DescReq":   gen(func(t *rapid.T) codec { return &pdu.DescReq{PMID: anyPMID.Draw(t, "pmid")} }),
	"DescReply": gen(func(t *rapid.T) codec { return &pdu.DescReply{Desc: anyDesc.Draw(t, "desc")} }),
	"DescsReq":  gen(func(t *rapid.T) codec { return &pdu.DescsReq{PMIDs: somePMID.Draw(t, "pmids")} }),
	"DescsReply": gen(func(t *rapid.T) codec {
		return &pdu.DescsReply{Descs: rapid.SliceOfN(anyDesc, 0, 5).Draw(t, "descs")}
	}),
	"InstanceReq": gen(func(t *rapid.T) codec {
		return &pdu.InstanceReq{InDom: anyInDom.Draw(t, "indom"), Inst: anyInst.Draw(t, "inst"), Name: anyName.Draw(t, "name")}
	}),
	"InstanceReply": gen(func(t *rapid.T) codec {
		p := pdu.InstanceReply{InDom: anyInDom.Draw(t, "indom")}
		for range rapid.IntRange(0, 5).Draw(t, "instances") {
			p.Instances = append(p.Instances, pdu.Instance{ID: anyInst.Draw(t, "inst"), Name: anyName.Draw(t, "name")})
		}
		return &p
	}),
	"TextReq": gen(func(t *rapid.T) codec {
		return &pdu.TextReq{Ident: rapid.Uint32().Draw(t, "ident"), Text: pdu.TextKind(rapid.Int32().Draw(t, "type")) &^ pdu.TextDirect}
	}),
	"TextReply": gen(func(t *rapid.T) codec {
		return &pdu.TextReply{Ident: rapid.Uint32().Draw(t, "ident"), Text: anyName.Draw(t, "text")}
	}),
	"PMIDList": gen(func(t *rapid.T) codec {
		return &pdu.PMIDList{Status: rapid.Int32().Draw(t, "status"), PMIDs: rapid.SliceOfN(anyPMID, 0, 5).Draw(t, "pmids")}
	}),
	"NameList": gen(func(t *rapid.T) codec {
		if rapid.IntRange(0, 4).Draw(t, "failed") == 0 {
			return &pdu.NameList{Err: anyCode.Draw(t, "code")}
		}
		p := pdu.NameList{Names: rapid.SliceOfN(anyName, 0, 5).Draw(t, "names")}
		if rapid.Bool().Draw(t, "has statuses") {
			p.Statuses = rapid.SliceOfN(rapid.Int32(), len(p.Names), len(p.Names)).Draw(t, "statuses")
		}
		return &p
	}),
	"ChildReq": gen(func(t *rapid.T) codec {
		return &pdu.ChildReq{Name: anyName.Draw(t, "name"), Status: rapid.Bool().Draw(t, "status")}
	}),
	"TraverseReq": gen(func(t *rapid.T) codec { return &pdu.TraverseReq{Name: anyName.Draw(t, "name")} }),
	"Attr": gen(func(t *rapid.T) codec {
		return &pdu.Attr{Key: pdu.Attribute(rapid.Int32().Draw(t, "attribute")), Value: anyBytes.Draw(t, "value")}
	}),
	"LabelReq": gen(func(t *rapid.T) codec {
		return &pdu.LabelReq{Ident: rapid.Uint32().Draw(t, "ident"), Class: pdu.LabelClass(rapid.Int32().Draw(t, "class"))}
	}),
	"LabelReply": gen(func(t *rapid.T) codec {
		return &pdu.LabelReply{Ident: rapid.Uint32().Draw(t, "ident"), Class: pdu.LabelClass(rapid.Int32().Draw(t, "class")),
			Sets: rapid.SliceOfN(anyLabelSet, 0, 4).Draw(t, "sets")}
	}),
}

func gen(f func(t *rapid.T) codec) *rapid.Generator[codec] { return rapid.Custom(f) }

// TestCodecProperty: decoding inverts encoding.
func TestCodecProperty(t *testing.T) {
	for name, g := range gens {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := g.Draw(t, "pdu")
				body := encode(t, p)
				got, err := pdu.Decode(p.Kind(), body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(pdu.PDU(p), got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				// and every body that is accepted, decodes to what encodes to it
				checkBody(t, p.Kind(), mutate(t, body), nil)
			})
		})
	}
}

// mutate changes a body in a few places.
func mutate(t *rapid.T, body []byte) []byte {
	b := slices.Clone(body)
	for range rapid.IntRange(1, 3).Draw(t, "mutations") {
		switch i := rapid.IntRange(0, len(b)).Draw(t, "at"); rapid.IntRange(0, 3).Draw(t, "mutation") {
		case 0:
			b = b[:i]
		case 1:
			b = slices.Insert(b, i, rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "inserted")...)
		default:
			if i < len(b) {
				b[i] = rapid.SampledFrom([]byte{0, 1, 2, 4, 8, 0x7f, 0x80, 0xff}).Draw(t, "byte")
			}
		}
	}
	return b
}

// anyAtom is a value of each type that a set can hold.
func anyAtom(t *rapid.T, typ pdu.Type) pdu.Atom {
	switch typ {
	case pdu.Type32:
		return pdu.Int32(rapid.Int32().Draw(t, "value"))
	case pdu.TypeU32:
		return pdu.Uint32(rapid.Uint32().Draw(t, "value"))
	case pdu.Type64:
		return pdu.Int64(rapid.Int64().Draw(t, "value"))
	case pdu.TypeU64:
		return pdu.Uint64(rapid.Uint64().Draw(t, "value"))
	case pdu.TypeFloat:
		return pdu.Float32(rapid.Float32().Draw(t, "value"))
	case pdu.TypeDouble:
		return pdu.Float64(rapid.Float64().Draw(t, "value"))
	case pdu.TypeString:
		return pdu.String(anyName.Draw(t, "value"))
	}
	return pdu.Aggregate(anyBytes.Draw(t, "value"))
}

// TestResultProperty: a Result returns the values written to its ResultWriter, also after a copy,
// a merge and a mutation.
func TestResultProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w pdu.ResultWriter
		types := map[pdu.PMID]pdu.Type{}
		want := view{Time: time.Unix(rapid.Int64Range(1, math.MaxInt32).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))}
		w.Time = want.Time
		for range rapid.IntRange(0, 6).Draw(t, "sets") {
			s := setView{PMID: anyPMID.Draw(t, "pmid")}
			if _, twice := types[s.PMID]; twice {
				continue
			}
			typ := pdu.Type(rapid.Int32Range(0, 7).Draw(t, "type"))
			types[s.PMID] = typ
			w.Begin(s.PMID)
			for range rapid.IntRange(0, 4).Draw(t, "values") {
				inst, a := anyInst.Draw(t, "inst"), anyAtom(t, typ)
				w.Atom(inst, a)
				s.Insts, s.Atoms = append(s.Insts, inst), append(s.Atoms, a)
			}
			if rapid.IntRange(0, 3).Draw(t, "failed") == 0 {
				code := anyCode.Draw(t, "code")
				w.Fail(code)
				s = setView{PMID: s.PMID, Err: code}
			}
			want.Sets = append(want.Sets, s)
		}
		body := encode(t, w.PDU(pdu.FormatHighRes))
		r := pdu.Result{Format: pdu.FormatHighRes}
		must(t, r.Decode(body))
		must(t, r.Validate())
		if diff := cmp.Diff(want, viewResult(&r, types), cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		var merged pdu.ResultWriter
		merged.Begin(1)
		merged.String(1, "before")
		cut := rapid.IntRange(0, w.Len()).Draw(t, "cut")
		merged.CopySets(&w, cut, w.Len())
		merged.CopySets(&w, 0, cut)
		must(t, r.Decode(encode(t, merged.PDU(pdu.FormatHighRes))))
		must(t, r.Validate())
		got := viewResult(&r, types).Sets[1:]
		if diff := cmp.Diff(slices.Concat(want.Sets[cut:], want.Sets[:cut]), got, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("merged (-want +got):\n%s", diff)
		}
		checkBody(t, pdu.KindHighResResult, mutate(t, body), nil)
	})
}
