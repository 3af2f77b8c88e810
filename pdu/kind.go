package pdu

import "strconv"

// A Kind is the type word of a PDU's header.
type Kind int32

// The kinds of PDU, PDU_* of the C library. 0x700a (CONTROL_REQ) and 0x700b
// are retired.
const (
	KindError         Kind = 0x7000
	KindResult        Kind = 0x7001
	KindProfile       Kind = 0x7002
	KindFetch         Kind = 0x7003
	KindDescReq       Kind = 0x7004
	KindDesc          Kind = 0x7005
	KindInstanceReq   Kind = 0x7006
	KindInstance      Kind = 0x7007
	KindTextReq       Kind = 0x7008
	KindText          Kind = 0x7009
	KindControlReq    Kind = 0x700a
	KindCreds         Kind = 0x700c
	KindPMNSIDs       Kind = 0x700d
	KindPMNSNames     Kind = 0x700e
	KindPMNSChild     Kind = 0x700f
	KindPMNSTraverse  Kind = 0x7010
	KindAttr          Kind = 0x7011
	KindLabelReq      Kind = 0x7012
	KindLabel         Kind = 0x7013
	KindHighResFetch  Kind = 0x7014
	KindHighResResult Kind = 0x7015
	KindDescIDs       Kind = 0x7016
	KindDescs         Kind = 0x7017

	kindFirst = KindError
	kindLast  = KindDescs
	numKinds  = int(kindLast-kindFirst) + 1
)

var kindNames = [numKinds]string{
	"ERROR", "RESULT", "PROFILE", "FETCH", "DESC_REQ", "DESC", "INSTANCE_REQ", "INSTANCE",
	"TEXT_REQ", "TEXT", "CONTROL_REQ", "", "CREDS", "PMNS_IDS", "PMNS_NAMES", "PMNS_CHILD",
	"PMNS_TRAVERSE", "ATTR", "LABEL_REQ", "LABEL", "HIGHRES_FETCH", "HIGHRES_RESULT", "DESC_IDS", "DESCS",
}

// String is the name that __pmPDUTypeStr(3) prints.
func (k Kind) String() string {
	if k >= kindFirst && k <= kindLast && kindNames[k-kindFirst] != "" {
		return kindNames[k-kindFirst]
	}
	return "TYPE-" + strconv.Itoa(int(k)) + "?"
}

// HeaderLen is the length of every PDU's header: total length, kind and
// sender, each a big-endian 32-bit word.
const HeaderLen = 12

// A Header is the beginning of a PDU.
//
//	0   int32  Len, of the whole PDU, header included
//	4   int32  Kind
//	8   int32  From: the sender's process in CREDS; the client's slot in what a
//	           collector sends an agent; else meaningless
type Header struct {
	Len  int
	Kind Kind
	From int32
}

// A PDU is a protocol data unit that can be sent.
//
// Append adds the body to b and returns the extended slice. The last HeaderLen
// bytes of b are the place of the header, since some offsets inside a body
// count from there; Conn reserves and fills it. A value that a field of the
// layout cannot hold is an error, never cut to fit.
type PDU interface {
	Kind() Kind
	Append(b []byte) ([]byte, error)
}

// Decode decodes the body of a PDU of any kind into a new value, a pointer to
// one of this package's structs. Where speed matters, reuse a struct and call
// its Decode. Bytes and strings of the value may alias body. An unknown or
// retired kind, or a body that breaks the layout, is ErrIPC.
func Decode(k Kind, body []byte) (PDU, error) {
	var p interface {
		PDU
		Decode(body []byte) error
	}
	switch k {
	case KindError:
		if len(body) == challengeLen {
			p = new(Challenge)
		} else {
			p = new(Status)
		}
	case KindResult, KindHighResResult:
		p = &Result{Format: formatOf(k)}
	case KindProfile:
		p = new(SetProfile)
	case KindFetch, KindHighResFetch:
		p = &Fetch{HighRes: k == KindHighResFetch}
	case KindDescReq:
		p = new(DescReq)
	case KindDesc:
		p = new(DescReply)
	case KindInstanceReq:
		p = new(InstanceReq)
	case KindInstance:
		p = new(InstanceReply)
	case KindTextReq:
		p = new(TextReq)
	case KindText:
		p = new(TextReply)
	case KindCreds:
		p = new(Creds)
	case KindPMNSIDs:
		p = new(PMIDList)
	case KindPMNSNames:
		p = new(NameList)
	case KindPMNSChild:
		p = new(ChildReq)
	case KindPMNSTraverse:
		p = new(TraverseReq)
	case KindAttr:
		p = new(Attr)
	case KindLabelReq:
		p = new(LabelReq)
	case KindLabel:
		p = new(LabelReply)
	case KindDescIDs:
		p = new(DescsReq)
	case KindDescs:
		p = new(DescsReply)
	default:
		return nil, &OpError{Op: "decode", Kind: k, Err: ErrIPC}
	}
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	return p, nil
}
