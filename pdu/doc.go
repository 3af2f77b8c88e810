// Package pdu defines the data model of Performance Co-Pilot (PCP) and the protocol data units
// (PDUs) that clients, collectors and agents exchange.
//
//	id := pdu.MakePMID(60, 2, 0)           // domain 60, cluster 2, item 0
//	value := pdu.Uint64(1536)              // an Atom: a value and its type
//	n, err := pdu.As[float64](value)       // the Atom as a Go value
//	kb, err := value.ConvertUnits(pdu.SpaceByte, pdu.SpaceKByte)
//	fmt.Println(id, n, kb)                 // 60.2.0 1536 2
//	fmt.Println(pdu.SpaceKByte|pdu.PerSec) // Kbyte / sec
//
//	if errors.Is(err, pdu.ErrConv) {       // errors are codes of PCP
//		...
//	}
//
// Most programs need only the data model from this package: units, types, semantics and error
// codes. They use the protocol through packages pmapi (clients), pmda (agents) and pmda/collector.
//
// # Data model
//
//	PMID, InDom, InstID       numbers of metrics, instance domains, instances
//	Desc, Type, Sem, Units    descriptor of a metric and its parts
//	Atom, ValueFormat         a value; how values are printed
//	Profile                   which instances a client requests
//	LabelSet, EventArray      labels; events
//	Error                     status codes, which are Go errors
//
// # Protocol
//
// Each kind of PDU is a struct with the methods Append and Decode. A [Conn] frames PDUs over any
// io.ReadWriter; this package does not import net. Here a client requests the values of one
// metric:
//
//	c := pdu.NewConn(stream) // a net.Conn, say
//	if _, err := pdu.ClientHello(c, int32(os.Getpid()), 0); err != nil {
//		return err
//	}
//	// The profile is needed before the first fetch; it has no reply.
//	if err := errors.Join(
//		c.Queue(0, pdu.SetProfile{}),
//		c.Write(0, pdu.Fetch{PMIDs: []pdu.PMID{desc.PMID}}),
//	); err != nil {
//		return err
//	}
//	h, body, err := c.Read()
//	if err != nil {
//		return err
//	}
//	if h.Kind != pdu.KindResult { // an ERROR may come first: see Status.Change
//		return h.Unexpected(pdu.KindResult)
//	}
//	var r pdu.Result
//	if err := r.Decode(body); err != nil {
//		return err
//	}
//	for inst, value := range r.At(0).All(desc.Type) {
//		fmt.Println(inst, value)
//	}
//
// Package [github.com/pcp-go/pcp/pdu/pdutest] plays the other side of a connection in tests.
//
// # Kinds and structs
//
// A PDU is a header of 12 bytes and a body. C is a client, S a collector (the server), A an agent.
// Arrows point from the sender to the receiver.
//
//	0x7000 ERROR           Status         S→C, A→S, S→A; as a collector's first PDU Challenge
//	0x7001 RESULT          Result         S→C, A→S values; C→S, S→A a store
//	0x7002 PROFILE         SetProfile     C→S, S→A, no reply
//	0x7003 FETCH           Fetch          C→S, S→A, the reply is RESULT
//	0x7004 DESC_REQ        DescReq        C→S, S→A
//	0x7005 DESC            DescReply      S→C, A→S
//	0x7006 INSTANCE_REQ    InstanceReq    C→S, S→A
//	0x7007 INSTANCE        InstanceReply  S→C, A→S
//	0x7008 TEXT_REQ        TextReq        C→S, S→A
//	0x7009 TEXT            TextReply      S→C, A→S
//	0x700c CREDS           Creds          C→S, A→S, S→A
//	0x700d PMNS_IDS        PMIDList       names of a PMID: C→S, S→A; PMIDs of names: S→C, A→S
//	0x700e PMNS_NAMES      NameList       PMIDs of names: C→S, S→A; names: S→C, A→S
//	0x700f PMNS_CHILD      ChildReq       C→S, S→A, the reply is PMNS_NAMES
//	0x7010 PMNS_TRAVERSE   TraverseReq    C→S, S→A, the reply is PMNS_NAMES
//	0x7011 ATTR            Attr           C→S, S→C in the hello, S→A
//	0x7012 LABEL_REQ       LabelReq       C→S, S→A
//	0x7013 LABEL           LabelReply     S→C, A→S
//	0x7014 HIGHRES_FETCH   Fetch          C→S, the reply is HIGHRES_RESULT
//	0x7015 HIGHRES_RESULT  Result         S→C
//	0x7016 DESC_IDS        DescsReq       C→S
//	0x7017 DESCS           DescsReply     S→C
//
// The reply to any request may be ERROR instead. There are no request numbers: replies come in the
// order of the requests.
//
// # Memory and concurrency
//
// Append adds to the caller's buffer. Decode reads a body. A body from [Conn.Read] is valid until
// the next Read. Each Decode documents which parts of the value alias the body.
// Decoding into a used value reuses its slices: numbers and results then allocate nothing. Strings
// are copied.
//
// A decoder never panics. It allocates in proportion to the bytes that it was given, not to the
// counts in them. Its error wraps [ErrIPC] and names the field and its offset. The value is zero
// after an error.
//
// Values of this package may be read by several goroutines at once and changed by one at a time.
// Types that differ say so.
//
// # Versions
//
// PCP 6.0.3 and 7.x use the same protocol but accept different malformed PDUs. This package
// accepts what either of them sends and sends what both accept:
//
//	                          6.0.3 accepts    7.x accepts        Decode accepts     Append writes
//	TEXT_REQ, LABEL_REQ       longer ones      exact              exact              exact
//	DESC_IDS, PMNS_IDS        trailing bytes   exact              exact              exact
//	INSTANCE_REQ, name        unpadded, longer padded             padded, unpadded   padded
//	INSTANCE                  trailing bytes   exact              exact              exact
//	PMNS_CHILD, PMNS_TRAVERSE unpadded         unpadded           padded, unpadded   padded
//	TEXT                      unpadded         padded             padded, unpadded   padded
//	CREDS without credentials yes              no                 no                 no
//	PROFILE, nothing listed   28 bytes         24 or 28 bytes     24 or 28 bytes     28 bytes
//	PROFILE, trailing bytes   yes              no                 no                 no
//	PMNS_NAMES, an error code no               yes                yes                if Err is set
//	value block at the end    yes              no                 no                 no
//	LABEL, trailing bytes     yes              up to a whole word up to a whole word none
//	event arrays              unchecked        checked            checked by Events  -
//	length of a PDU           any              below 2³¹-1024     up to MaxLen       up to MaxLen
//
// # Names in the C library
//
//	pmResult, pmHighResResult         Result
//	pmValueSet, pmAtomValue           ValueSet, Atom
//	pmDesc, pmUnits, pmLabelSet       Desc, Units, LabelSet
//	PM_ERR_*, PM_TYPE_*, PM_SEM_*     constants of Error, Type, Sem
//	PM_LABEL_*, PM_TEXT_*, PMCD_*     constants of LabelClass, TextKind, Change
//	__pmSendX, __pmDecodeX            Append and Decode of the struct of the kind
//	__pmGetPDU                        Conn.Read
//	pmExtractValue(3)                 As
//	pmConvScale(3)                    Atom.ConvertUnits
//	pmAtomStr(3), pmPrintValue(3)     Atom.String, ValueFormat
//	pmNumberStr(3)                    FormatNumber
//	pmUnpackEventRecords(3)           Atom.Events with EventRecord.Values
//	pmAddProfile(3), pmDelProfile(3)  Profile.Add, Profile.Delete
package pdu
