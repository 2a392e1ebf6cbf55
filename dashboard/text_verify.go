package dashboard

// verifyTexts are the texts of the signature checker.
var verifyTexts = texts{
	"Paste a notification that you got. It is checked with the gateway's key and your own secrets, and kept nowhere.": {
		"Dán một thông báo bạn đã nhận. Nó được kiểm tra bằng khóa của cổng và các khóa bí mật của bạn, và không được lưu.", "粘贴您收到的通知。系统用网关密钥和您自己的密钥验证，不会保存。"},
	"Result": {"Kết quả kiểm tra", "验证结果"}, "What differs": {"Điểm khác nhau", "差异"}, "As it was sent": {"Như khi gửi", "发送时"},
	"A notification": {"Một thông báo", "通知"}, "The request, or its body alone": {"Yêu cầu, hoặc riêng nội dung", "请求，或仅正文"},
	"A whole request begins like POST /hook HTTP/1.1; a body begins with {.": {"Yêu cầu đầy đủ bắt đầu như POST /hook HTTP/1.1; nội dung bắt đầu bằng {.", "完整请求以 POST /hook HTTP/1.1 这样的行开头；正文以 { 开头。"},
	"Its headers, if they are not above":                                     {"Tiêu đề, nếu không có ở trên", "请求头（如上方未包含）"}, "Check it": {"Kiểm tra", "验证"},
	"A request of yours": {"Yêu cầu của bạn", "您的请求"}, "What an operation signs, and whether your signature is right": {"Một thao tác ký những gì, và chữ ký của bạn có đúng không", "操作签名的内容，以及您的签名是否正确"},
	"The text that is signed": {"Văn bản được ký", "签名文本"}, "Your secretKey stands in the place of {secretKey}. It is not shown here.": {
		"secretKey của bạn đứng ở chỗ {secretKey}. Nó không hiển thị ở đây.", "{secretKey} 处是您的 secretKey，此处不显示。"},
	"Operation": {"Thao tác", "操作"}, "The body of the request": {"Nội dung yêu cầu", "请求正文"}, "Show what it signs": {"Hiện văn bản được ký", "显示签名文本"},
	"The gateway's public key": {"Khóa công khai của cổng", "网关公钥"}, "Download": {"Tải xuống", "下载"}, "As a key set it is at": {"Dạng bộ khóa ở", "密钥集位于"}, "Keys before it:": {"Các khóa trước đó:", "之前的密钥："},
	"Programs that verify": {"Chương trình kiểm tra", "验证程序"}, "Each runs as it stands, without a library": {"Mỗi chương trình chạy được ngay, không cần thư viện", "均可直接运行，无需库"},
	"Any library of Standard Webhooks verifies, too.": {"Mọi thư viện Standard Webhooks cũng kiểm tra được.", "任何 Standard Webhooks 库也可以验证。"},

	"Too many checks in a minute.":                                  {"Quá nhiều lần kiểm tra trong một phút.", "一分钟内验证次数过多。"},
	"That is more than a notification can hold: %s at most.":        {"Nhiều hơn mức một thông báo có thể chứa: tối đa %s.", "超过通知的上限：最多 %s。"},
	"That holds bytes that are no text. Paste the request as text.": {"Có byte không phải văn bản. Hãy dán yêu cầu dạng văn bản.", "包含非文本字节。请以文本粘贴请求。"},
	"Paste a notification first.":                                   {"Hãy dán một thông báo trước.", "请先粘贴通知。"},
	"That is neither a JSON body, which begins with {, nor a request, which begins like POST /hook HTTP/1.1.": {
		"Đây không phải nội dung JSON, bắt đầu bằng {, cũng không phải yêu cầu, bắt đầu như POST /hook HTTP/1.1.", "既不是以 { 开头的 JSON 正文，也不是以 POST /hook HTTP/1.1 开头的请求。"},
	"The body is in chunks. Paste the body alone and the headers beside it.": {"Nội dung bị chia khối. Hãy dán riêng nội dung, và tiêu đề ở ô bên cạnh.", "正文是分块的。请单独粘贴正文，请求头另行粘贴。"},
	"The body is shorter than its Content-Length says: it was cut.":          {"Nội dung ngắn hơn Content-Length: đã bị cắt.", "正文短于 Content-Length：被截断了。"},
	"The headers cannot be read. Each is a line like webhook-id: evt_…":      {"Không đọc được tiêu đề. Mỗi tiêu đề là một dòng như webhook-id: evt_…", "无法读取请求头。每行应如 webhook-id: evt_…"},

	"Time": {"Thời gian", "时间"}, "right": {"đúng", "正确"}, "wrong": {"sai", "错误"}, "old": {"cũ", "过旧"}, "changed": {"bị thay đổi", "已更改"},
	"not found": {"không tìm thấy", "未找到"}, "not known": {"chưa biết", "未知"}, "not sent": {"không gửi", "未发送"}, "not signed yet": {"chưa ký", "尚未签名"},
	"Sent %s ago.": {"Đã gửi %s trước.", "%s前发送。"},
	"Sent %s ago. A receiver takes at most %s; one that gets it now must refuse it. Of one that you kept this is no fault.": {
		"Đã gửi %s trước. Bên nhận chỉ chấp nhận tối đa %s; nếu nhận bây giờ thì phải từ chối. Với bản bạn lưu lại thì đây không phải lỗi.", "%s前发送。接收方最多接受 %s；现在收到则必须拒绝。对于您保存的副本，这不是错误。"},
	"That is %s ahead of the gateway's clock.": {"Sớm hơn đồng hồ của cổng %s.", "比网关时钟快 %s。"},

	"It is genuine: the gateway sent it, and it is here as it was sent.":                   {"Thông báo là thật: cổng đã gửi và nội dung đúng như khi gửi.", "通知真实：由网关发送，且与发送时一致。"},
	"It is genuine by your webhook secret.":                                                {"Thông báo là thật theo khóa bí mật webhook của bạn.", "按您的 webhook 密钥，通知真实。"},
	"Its data is genuine by the gateway's key. Paste the headers, too, to check the rest.": {"data là thật theo khóa của cổng. Hãy dán cả tiêu đề để kiểm tra phần còn lại.", "按网关密钥，data 真实。请一并粘贴请求头以检查其余部分。"},
	"Its data is genuine, but the request is not here as it was sent.":                     {"data là thật, nhưng yêu cầu ở đây không như khi gửi.", "data 真实，但此处的请求与发送时不一致。"},
	"It does not verify. Below stands what is wrong.":                                      {"Không xác minh được. Bên dưới cho biết sai ở đâu.", "验证未通过。问题见下方。"},
	"RSA signature": {"Chữ ký RSA", "RSA 签名"}, "Standard Webhooks": {"Standard Webhooks", "Standard Webhooks"},
	"Your account is set to notifications without it.":                   {"Tài khoản của bạn được đặt để thông báo không có chữ ký này.", "您的账户设置为通知不带此签名。"},
	"Signed with the gateway's key %s.":                                  {"Ký bằng khóa %s của cổng.", "由网关密钥 %s 签名。"},
	"Signed with %s, a key of the gateway before the present one.":       {"Ký bằng %s, khóa của cổng trước khóa hiện tại.", "由 %s 签名，这是网关之前的密钥。"},
	"Signed with your secret %s, which is %s now.":                       {"Ký bằng khóa bí mật %s của bạn, hiện %s.", "由您的密钥 %s 签名，其当前状态为%s。"},
	"Your secrets cannot be read just now.":                              {"Hiện không đọc được các khóa bí mật của bạn.", "暂时无法读取您的密钥。"},
	"Without the header webhook-id there is nothing to compare it with.": {"Không có tiêu đề webhook-id thì không có gì để so sánh.", "没有 webhook-id 请求头，无从比较。"},
	"You have no notification with this webhook-id. It was changed, is another partner's, or is past its retention.": {
		"Bạn không có thông báo nào với webhook-id này. Nó bị sửa, là của đối tác khác, hoặc đã quá thời hạn lưu giữ.", "您没有此 webhook-id 的通知。它被更改、属于其他合作伙伴，或已超过保留期限。"},
	"What was sent cannot be read just now.":                                             {"Hiện không đọc được những gì đã gửi.", "暂时无法读取已发送的内容。"},
	"It holds what was sent, but in other bytes: something parsed and printed it again.": {"Nội dung giống khi gửi nhưng các byte khác: có thứ đã phân tích và in lại.", "内容与发送的相同，但字节不同：有程序解析后重新输出。"},
	"The body is not what was sent. The differences stand below.":                        {"Nội dung không phải thứ đã gửi. Điểm khác ở bên dưới.", "正文不是所发送的内容。差异见下方。"},
	"The body is byte for byte what was sent.":                                           {"Nội dung đúng từng byte như khi gửi.", "正文与发送的逐字节一致。"},
	"The body is right, but no attempt was made at that webhook-timestamp.":              {"Nội dung đúng, nhưng không có lần thử nào vào webhook-timestamp đó.", "正文正确，但没有在该 webhook-timestamp 的尝试。"},
	"webhook-signature is not the one that attempt %s was sent with.":                    {"webhook-signature không phải của lần thử %s.", "webhook-signature 不是第 %s 次尝试所带的签名。"},

	"Choose one of the operations.": {"Hãy chọn một thao tác.", "请选择一个操作。"}, "Yours is %s.": {"Mã của bạn là %s.", "您的是 %s。"},
	"Sign the text with your private key: PKCS#1 v1.5 and SHA-256, in base64.":   {"Hãy ký văn bản bằng khóa riêng của bạn: PKCS#1 v1.5 và SHA-256, dạng base64.", "请用您的私钥签名该文本：PKCS#1 v1.5 与 SHA-256，base64 编码。"},
	"Your keys cannot be read just now.":                                         {"Hiện không đọc được các khóa của bạn.", "暂时无法读取您的公钥。"},
	"Signed with your key %s.":                                                   {"Ký bằng khóa %s của bạn.", "由您的密钥 %s 签名。"},
	"Signed with your key from before the change of keys; it verifies until %s.": {"Ký bằng khóa cũ của bạn trước khi đổi; còn hiệu lực đến %s.", "由您更换前的密钥签名；有效至 %s。"},
}
