// Package record makes recordings on the fly: the record mode of monitoring tools, in PCP that of pmRecordSetup(3).
package record
