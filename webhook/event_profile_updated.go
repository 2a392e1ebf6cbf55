package webhook

// ProfileUpdated tells that the identity check of an account moved on.
const ProfileUpdated Type = "ProfileApplication.Updated"

var _ = describe(EventType{
	Type: ProfileUpdated, Place: 4, Title: "The identity check of an account moved on.", FromInside: true,
	IDField: "accountId", OrderingKeyField: "accountId", ErasedWith: ErasableAccount, Statuses: kycStatuses,
	Rejections:      []string{"REJECTED"},
	SignatureBeside: true,
	Fields: []Field{
		{Name: "accountId", Kind: FieldID, Required: true, Doc: "the account"},
		{Name: "status", Alias: "kycStatus", Kind: FieldChoice, Required: true, Values: kycStatuses,
			Doc: "where the identity check stands"},
		{Name: "rejectReason", Alias: "kycRejectReason", Kind: FieldText,
			Doc: "a code, a Vietnamese and an English text, separated by \" | \"; empty if there is none"},
		createdAtField,
	},
	Moves: []Move{
		{"", "NONE"}, {"NONE", "SUBMITTED"},
		{"SUBMITTED", "UNDER_REVIEW"}, {"SUBMITTED", "CONFIRMED"}, {"SUBMITTED", "REJECTED"},
		{"UNDER_REVIEW", "CONFIRMED"}, {"UNDER_REVIEW", "VERIFIED"}, {"UNDER_REVIEW", "REJECTED"},
		{"CONFIRMED", "UNDER_REVIEW"}, {"CONFIRMED", "VERIFIED"}, {"CONFIRMED", "REJECTED"},
		{"REJECTED", "SUBMITTED"},
		{"VERIFIED", "UNDER_REVIEW"}, {"VERIFIED", "REJECTED"},
	},
	Example: `{"accountId":"acc_01","createdAt":1700000300,` +
		`"kycRejectReason":"DOC_EXPIRED | Giấy tờ hết hạn | Document expired","kycStatus":"REJECTED",` +
		`"rejectReason":"DOC_EXPIRED | Giấy tờ hết hạn | Document expired","status":"REJECTED"}`,
})

var kycStatuses = []string{"NONE", "UNDER_REVIEW", "CONFIRMED", "SUBMITTED", "VERIFIED", "REJECTED"}
