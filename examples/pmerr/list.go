package main

import (
	"fmt"
	"io"

	"github.com/pcp-go/pcp/pdu"
)

// codes are PCP's error codes with their names in the C library, in the order of pmerr's list.
var codes = [...]struct {
	name string
	code pdu.Error
}{
	{"PM_ERR_GENERIC", pdu.ErrGeneric},
	{"PM_ERR_PMNS", pdu.ErrPMNS},
	{"PM_ERR_NOPMNS", pdu.ErrNoPMNS},
	{"PM_ERR_DUPPMNS", pdu.ErrDupPMNS},
	{"PM_ERR_TEXT", pdu.ErrText},
	{"PM_ERR_APPVERSION", pdu.ErrAppVersion},
	{"PM_ERR_VALUE", pdu.ErrValue},
	{"PM_ERR_TIMEOUT", pdu.ErrTimeout},
	{"PM_ERR_NODATA", pdu.ErrNoData},
	{"PM_ERR_RESET", -12355},
	{"PM_ERR_NAME", pdu.ErrName},
	{"PM_ERR_PMID", pdu.ErrPMID},
	{"PM_ERR_INDOM", pdu.ErrInDom},
	{"PM_ERR_INST", pdu.ErrInst},
	{"PM_ERR_TYPE", pdu.ErrType},
	{"PM_ERR_UNIT", pdu.ErrUnit},
	{"PM_ERR_CONV", pdu.ErrConv},
	{"PM_ERR_TRUNC", pdu.ErrTrunc},
	{"PM_ERR_SIGN", pdu.ErrSign},
	{"PM_ERR_PROFILE", pdu.ErrProfile},
	{"PM_ERR_IPC", pdu.ErrIPC},
	{"PM_ERR_TLS", pdu.ErrTLS},
	{"PM_ERR_EOF", pdu.ErrEOF},
	{"PM_ERR_NOTHOST", pdu.ErrNotHost},
	{"PM_ERR_EOL", pdu.ErrEOL},
	{"PM_ERR_MODE", pdu.ErrMode},
	{"PM_ERR_LABEL", pdu.ErrLabel},
	{"PM_ERR_LOGREC", pdu.ErrLogRec},
	{"PM_ERR_LOGFILE", pdu.ErrLogFile},
	{"PM_ERR_NOTARCHIVE", pdu.ErrNotArchive},
	{"PM_ERR_NOCONTEXT", pdu.ErrNoContext},
	{"PM_ERR_PROFILESPEC", pdu.ErrProfileSpec},
	{"PM_ERR_PMID_LOG", pdu.ErrPMIDLog},
	{"PM_ERR_INDOM_LOG", pdu.ErrInDomLog},
	{"PM_ERR_INST_LOG", pdu.ErrInstLog},
	{"PM_ERR_NOPROFILE", pdu.ErrNoProfile},
	{"PM_ERR_NOAGENT", pdu.ErrNoAgent},
	{"PM_ERR_PERMISSION", pdu.ErrPermission},
	{"PM_ERR_CONNLIMIT", pdu.ErrConnLimit},
	{"PM_ERR_AGAIN", pdu.ErrAgain},
	{"PM_ERR_ISCONN", -12390},
	{"PM_ERR_NOTCONN", pdu.ErrNotConn},
	{"PM_ERR_NEEDPORT", -12392},
	{"PM_ERR_NONLEAF", pdu.ErrNonLeaf},
	{"PM_ERR_PMDANOTREADY", pdu.ErrPMDANotReady},
	{"PM_ERR_PMDAREADY", pdu.ErrPMDAReady},
	{"PM_ERR_BOTCH", -12442},
	{"PM_ERR_TOOSMALL", pdu.ErrTooSmall},
	{"PM_ERR_TOOBIG", pdu.ErrTooBig},
	{"PM_ERR_FAULT", -12445},
	{"PM_ERR_THREAD", -12398},
	{"PM_ERR_NOCONTAINER", pdu.ErrNoContainer},
	{"PM_ERR_BADSTORE", pdu.ErrBadStore},
	{"PM_ERR_LOGOVERLAP", pdu.ErrLogOverlap},
	{"PM_ERR_LOGHOST", pdu.ErrLogHost},
	{"PM_ERR_LOGCHANGETYPE", pdu.ErrLogChangeType},
	{"PM_ERR_LOGCHANGESEM", pdu.ErrLogChangeSem},
	{"PM_ERR_LOGCHANGEINDOM", pdu.ErrLogChangeInDom},
	{"PM_ERR_LOGCHANGEUNITS", pdu.ErrLogChangeUnits},
	{"PM_ERR_NEEDCLIENTCERT", pdu.ErrNeedClientCert},
	{"PM_ERR_BADDERIVE", pdu.ErrBadDerive},
	{"PM_ERR_NOLABELS", pdu.ErrNoLabels},
	{"PM_ERR_PMDAFENCED", pdu.ErrPMDAFenced},
	{"PM_ERR_RECTYPE", pdu.ErrRecType},
	{"PM_ERR_FEATURE", pdu.ErrFeature},
	{"PM_ERR_ARG", pdu.ErrArg},
	{"PM_ERR_NYI", pdu.ErrNYI},
}

// printCodes prints all codes.
func printCodes(out io.Writer) {
	fmt.Fprintf(out, "%6s  %-22s %s\n", "Code", "Symbolic Name", "Message")
	for _, c := range codes {
		fmt.Fprintf(out, "%6d  %-22s %v\n", c.code, c.name, c.code)
	}
}
