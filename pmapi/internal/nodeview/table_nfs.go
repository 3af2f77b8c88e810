package nodeview

import "strings"

var nfsFamilies = []family{
	one("node_nfs_connections_total", counter, "rpc.client.nettcpconn", "TCP connections that the NFS client made"),
	{"node_nfs_packets_total", "Packets of the NFS client", counter, []source{
		{metric: "rpc.client.nettcpcnt", labels: []label{{"protocol", "tcp"}}}, {metric: "rpc.client.netudpcnt", labels: []label{{"protocol", "udp"}}},
	}},
	{"node_nfs_requests_total", "Requests of the NFS client", counter, []source{
		nfs("nfs.client.reqs", "2", nfs2Methods), nfs("nfs3.client.reqs", "3", nfs3Methods), nfs("nfs4.client.reqs", "4", nfs4Methods),
	}},
	one("node_nfs_rpc_authentication_refreshes_total", counter, "rpc.client.rpcauthrefresh", "How often the NFS client got its credentials anew"),
	one("node_nfs_rpc_retransmissions_total", counter, "rpc.client.rpcretrans", "Calls that the NFS client sent again"),
	one("node_nfs_rpcs_total", counter, "rpc.client.rpccnt", "Calls of the NFS client"),
}

var nfsdFamilies = []family{
	one("node_nfsd_connections_total", counter, "rpc.server.nettcpconn", "TCP connections that the NFS server accepted"),
	{"node_nfsd_disk_bytes_read_total", "Bytes that clients have read", counter, []source{{metric: "rpc.server.io_read", mul: 1}}},
	{"node_nfsd_disk_bytes_written_total", "Bytes that clients have written", counter, []source{{metric: "rpc.server.io_write", mul: 1}}},
	one("node_nfsd_file_handles_stale_total", counter, "rpc.server.fh_stale", "File handles whose file is no more"),
	{"node_nfsd_packets_total", "Packets of the NFS server", counter, []source{
		{metric: "rpc.server.nettcpcnt", labels: []label{{"proto", "tcp"}}}, {metric: "rpc.server.netudpcnt", labels: []label{{"proto", "udp"}}},
	}},
	one("node_nfsd_reply_cache_hits_total", counter, "rpc.server.rchits", "Calls that were answered from the cache of replies"),
	one("node_nfsd_reply_cache_misses_total", counter, "rpc.server.rcmisses", "Calls whose replies were put into the cache"),
	one("node_nfsd_reply_cache_nocache_total", counter, "rpc.server.rcnocache", "Calls whose replies need no cache"),
	{"node_nfsd_requests_total", "Requests to the NFS server", counter, []source{
		nfs("nfs.server.reqs", "2", nfs2Methods), nfs("nfs3.server.reqs", "3", nfs3Methods), nfs("nfs4.server.reqs", "4", nfsd4Methods),
	}},
	{"node_nfsd_rpc_errors_total", "Calls that the NFS server refused", counter, []source{
		{metric: "rpc.server.rpcbadauth", labels: []label{{"error", "auth"}}}, {metric: "rpc.server.rpcbadclnt", labels: []label{{"error", "cInt"}}},
		{metric: "rpc.server.rpcbadfmt", labels: []label{{"error", "fmt"}}},
	}},
	one("node_nfsd_server_rpcs_total", counter, "rpc.server.rpccnt", "Calls of the NFS server"),
	one("node_nfsd_server_threads", gauge, "rpc.server.th_cnt", "Threads of the NFS server"),
}

// nfs returns a source of requests by method, with node_exporter's names. It omits methods that are
// not in the table and, for servers, Null.
func nfs(metric, proto string, methods map[string]string) source {
	return source{metric: metric, labels: []label{{"proto", proto}}, by: func(instance string) (label, bool) {
		method, ok := methods[instance]
		return label{"method", method}, ok && (method != "Null" || !strings.Contains(metric, ".server."))
	}}
}

// nfs2Methods maps instances of nfs.client.reqs to node_exporter's methods.
var nfs2Methods = map[string]string{
	"null": "Null", "getattr": "GetAttr", "setattr": "SetAttr", "root": "Root", "lookup": "Lookup", "readlink": "ReadLink",
	"read": "Read", "wrcache": "WrCache", "write": "Write", "create": "Create", "remove": "Remove", "rename": "Rename", "link": "Link",
	"symlink": "SymLink", "mkdir": "MkDir", "rmdir": "RmDir", "readdir": "ReadDir", "statfs": "FsStat",
}

// nfs3Methods does the same for nfs3.client.reqs.
var nfs3Methods = map[string]string{
	"null": "Null", "getattr": "GetAttr", "setattr": "SetAttr", "lookup": "Lookup", "access": "Access", "readlink": "ReadLink",
	"read": "Read", "write": "Write", "create": "Create", "mkdir": "MkDir", "symlink": "SymLink", "mknod": "MkNod", "remove": "Remove",
	"rmdir": "RmDir", "rename": "Rename", "link": "Link", "readdir": "ReadDir", "readdir+": "ReadDirPlus", "statfs": "FsStat",
	"fsinfo": "FsInfo", "pathconf": "PathConf", "commit": "Commit",
}

// nfs4Methods does the same for nfs4.client.reqs, up to the place of LayoutReturn. PCP lacks that
// method, which the kernel counts, so that all later ones have the wrong names.
var nfs4Methods = map[string]string{
	"null": "Null", "read": "Read", "write": "Write", "commit": "Commit", "open": "Open", "open_conf": "OpenConfirm",
	"open_noat": "OpenNoattr", "open_dgrd": "OpenDowngrade", "close": "Close", "setattr": "Setattr", "fsinfo": "FsInfo",
	"renew": "Renew", "setclntid": "SetClientID", "confirm": "SetClientIDConfirm", "lock": "Lock", "lockt": "Lockt", "locku": "Locku",
	"access": "Access", "getattr": "Getattr", "lookup": "Lookup", "lookup_root": "LookupRoot", "remove": "Remove", "rename": "Rename",
	"link": "Link", "symlink": "Symlink", "create": "Create", "pathconf": "Pathconf", "statfs": "StatFs", "readlink": "ReadLink",
	"readdir": "ReadDir", "server_caps": "ServerCaps", "delegreturn": "DelegReturn", "getacl": "GetACL", "setacl": "SetACL",
	"fs_locations": "FsLocations", "rel_lkowner": "ReleaseLockowner", "secinfo": "Secinfo", "fsid_present": "FsidPresent",
	"exchange_id": "ExchangeID", "create_ses": "CreateSession", "destroy_ses": "DestroySession", "sequence": "Sequence",
	"get_lease_t": "GetLeaseTime", "reclaim_comp": "ReclaimComplete", "layoutget": "LayoutGet", "getdevinfo": "GetDeviceInfo",
	"layoutcommit": "LayoutCommit",
}

// nfsd4Methods does the same for nfs4.server.reqs. node_exporter lacks SETCLIENTID, which the
// kernel counts, so that its Verify, Write and RelLockOwner have the numbers of other methods. Here
// they have their own.
var nfsd4Methods = map[string]string{
	"access": "Access", "close": "Close", "commit": "Commit", "create": "Create", "delegpurge": "DelegPurge",
	"delegreturn": "DelegReturn", "getattr": "GetAttr", "getfh": "GetFH", "link": "Link", "lock": "Lock", "lockt": "Lockt",
	"locku": "Locku", "lookup": "Lookup", "lookup_root": "LookupRoot", "nverify": "Nverify", "open": "Open", "openattr": "OpenAttr",
	"open_conf": "OpenConfirm", "open_dgrd": "OpenDgrd", "putfh": "PutFH", "read": "Read", "readdir": "ReadDir", "readlink": "ReadLink",
	"remove": "Remove", "rename": "Rename", "renew": "Renew", "restorefh": "RestoreFH", "savefh": "SaveFH", "secinfo": "SecInfo",
	"setattr": "SetAttr", "verify": "Verify", "write": "Write", "rellockowner": "RelLockOwner",
}
