package pdu

// ProtocolVersion is the only version of the protocol in use.
const ProtocolVersion = 2

// Features are a set of bits that say which parts of the protocol a peer supports
// or requests. Challenge and Creds carry them.
type Features uint16

// The feature flags, PDU_FLAG_* of the C library. A collector offers them in its
// Challenge. In its Creds a client may request Secure, Compress, Auth,
// CredsRequired, SecureAck, Container and CertRequired; it uses Labels, HighRes
// and Descs without a request.
const (
	FeatureSecure        Features = 0x0001 // TLS
	FeatureCompress      Features = 0x0002 // retired
	FeatureAuth          Features = 0x0004 // SASL; of an agent: requests client attributes
	FeatureCredsRequired Features = 0x0008 // the client must authenticate
	FeatureSecureAck     Features = 0x0010 // the collector acknowledges the start of TLS
	FeatureContainer     Features = 0x0040 // the container attribute; of an agent: requests it
	FeatureCertRequired  Features = 0x0080 // the client needs a certificate
	FeatureLabels        Features = 0x0200 // labels: LABEL_REQ
	FeatureHighRes       Features = 0x0400 // times with nanoseconds: HIGHRES_FETCH
	FeatureDescs         Features = 0x0800 // many descriptors at once: DESC_IDS
)
