package report

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// symbols are the names that the C library has for codes which a metric may be refused with.
var symbols = map[pdu.Error]string{
	pdu.ErrGeneric: "PM_ERR_GENERIC", pdu.ErrPMNS: "PM_ERR_PMNS", pdu.ErrNoPMNS: "PM_ERR_NOPMNS", pdu.ErrDupPMNS: "PM_ERR_DUPPMNS",
	pdu.ErrText: "PM_ERR_TEXT", pdu.ErrAppVersion: "PM_ERR_APPVERSION", pdu.ErrValue: "PM_ERR_VALUE", pdu.ErrTimeout: "PM_ERR_TIMEOUT",
	pdu.ErrNoData: "PM_ERR_NODATA", -12355: "PM_ERR_RESET", pdu.ErrName: "PM_ERR_NAME", pdu.ErrPMID: "PM_ERR_PMID",
	pdu.ErrInDom: "PM_ERR_INDOM", pdu.ErrInst: "PM_ERR_INST", pdu.ErrUnit: "PM_ERR_UNIT", pdu.ErrConv: "PM_ERR_CONV",
	pdu.ErrTrunc: "PM_ERR_TRUNC", pdu.ErrSign: "PM_ERR_SIGN", pdu.ErrProfile: "PM_ERR_PROFILE", pdu.ErrIPC: "PM_ERR_IPC",
	pdu.ErrEOF: "PM_ERR_EOF", pdu.ErrNotHost: "PM_ERR_NOTHOST", pdu.ErrEOL: "PM_ERR_EOL", pdu.ErrMode: "PM_ERR_MODE",
	pdu.ErrLabel: "PM_ERR_LABEL", pdu.ErrLogRec: "PM_ERR_LOGREC", pdu.ErrNotArchive: "PM_ERR_NOTARCHIVE", pdu.ErrLogFile: "PM_ERR_LOGFILE",
	pdu.ErrNoContext: "PM_ERR_NOCONTEXT", pdu.ErrProfileSpec: "PM_ERR_PROFILESPEC", pdu.ErrPMIDLog: "PM_ERR_PMID_LOG",
	pdu.ErrInDomLog: "PM_ERR_INDOM_LOG", pdu.ErrInstLog: "PM_ERR_INST_LOG", pdu.ErrNoProfile: "PM_ERR_NOPROFILE",
	pdu.ErrNoAgent: "PM_ERR_NOAGENT", pdu.ErrPermission: "PM_ERR_PERMISSION", pdu.ErrConnLimit: "PM_ERR_CONNLIMIT",
	pdu.ErrAgain: "PM_ERR_AGAIN", -12390: "PM_ERR_ISCONN", pdu.ErrNotConn: "PM_ERR_NOTCONN", pdu.ErrNonLeaf: "PM_ERR_NONLEAF",
	pdu.ErrType: "PM_ERR_TYPE", -12398: "PM_ERR_THREAD", pdu.ErrNoContainer: "PM_ERR_NOCONTAINER", pdu.ErrBadStore: "PM_ERR_BADSTORE",
	pdu.ErrBadDerive: "PM_ERR_BADDERIVE", pdu.ErrNoLabels: "PM_ERR_NOLABELS", pdu.ErrPMDAFenced: "PM_ERR_PMDAFENCED",
	pdu.ErrTooSmall: "PM_ERR_TOOSMALL", pdu.ErrTooBig: "PM_ERR_TOOBIG", pdu.ErrNYI: "PM_ERR_NYI",
}

// symbol is the name of a code.
func symbol(code pdu.Error) string {
	if name, ok := symbols[code]; ok {
		return name
	}
	return fmt.Sprint(int32(code))
}
