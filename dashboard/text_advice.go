package dashboard

// adviceTexts are the sentences of delivery.Advice, and those that the ledger
// keeps in English: why an attempt follows, and why a delivery, an endpoint or
// a replay ended or stopped.
var adviceTexts = texts{
	"answers a redirect to %s; redirects are not followed: register that URL": {
		"phản hồi chuyển hướng đến %s; cổng không đi theo chuyển hướng: hãy đăng ký URL đó", "响应重定向到 %s；网关不跟随重定向：请注册该 URL"},
	"answers %s, a redirect, and redirects are not followed: register the URL that answers itself": {
		"phản hồi %s, là chuyển hướng, và cổng không đi theo: hãy đăng ký URL trả lời trực tiếp", "响应 %s，是重定向，网关不跟随：请注册直接响应的 URL"},
	"does not answer in time: answer first, work afterwards": {"không trả lời kịp: hãy trả lời trước, xử lý sau", "未及时响应：请先响应，再处理"},
	"the TLS connection fails: %s":                           {"kết nối TLS thất bại: %s", "TLS 连接失败：%s"},
	"the answer's body does not acknowledge, which this endpoint's ackMode asks for: %s": {
		"nội dung phản hồi không xác nhận, điều mà ackMode của điểm nhận này đòi hỏi: %s", "响应正文没有确认，而此端点的 ackMode 要求确认：%s"},
	"answers %s: does the receiver check the signature with the right secret, or ask for a credential?": {
		"phản hồi %s: bên nhận có kiểm tra chữ ký bằng đúng khóa bí mật không, hay đòi thông tin xác thực?", "响应 %s：接收方是否用正确的密钥验证签名，或者要求凭证？"},
	"answers 410 Gone: twice in a row disables the endpoint": {"phản hồi 410 Gone: hai lần liên tiếp sẽ tắt điểm nhận", "响应 410 Gone：连续两次会停用端点"},
	"answers %s with an HTML page, perhaps a login page: is this the right URL?": {
		"phản hồi %s kèm một trang HTML, có thể là trang đăng nhập: URL có đúng không?", "响应 %s 并返回 HTML 页面，可能是登录页：URL 正确吗？"},
	"the slowest 5 %% of its answers take %s s or more of %s s: answer first, work afterwards": {
		"5 %% phản hồi chậm nhất mất từ %s giây trở lên trên %s giây cho phép: hãy trả lời trước, xử lý sau", "最慢的 5 %% 响应耗时 %s 秒以上，上限 %s 秒：请先响应，再处理"},
	"the certificate has expired":              {"chứng chỉ đã hết hạn", "证书已过期"},
	"the certificate expires within a day":     {"chứng chỉ hết hạn trong vòng một ngày", "证书将在一天内过期"},
	"the certificate expires in 1 day":         {"chứng chỉ hết hạn sau 1 ngày", "证书将在 1 天后过期"},
	"the certificate expires in %s days":       {"chứng chỉ hết hạn sau %s ngày", "证书将在 %s 天后过期"},
	"attempt %s of %s, %s after the last":      {"lần thử %s trên %s, %s sau lần trước", "第 %s 次尝试，共 %s 次，距上次 %s"},
	"all %s attempts of the schedule are used": {"đã dùng hết %s lần thử của lịch", "计划中的 %s 次尝试已全部用完"},
	"attempt %s of %s, the answer asked to wait %s": {
		"lần thử %s trên %s, phản hồi yêu cầu chờ %s", "第 %s 次尝试，共 %s 次，响应要求等待 %s"},
	"a test is sent once": {"thông báo thử chỉ gửi một lần", "测试只发送一次"},
	"the attempt's outcome is unknown: sent again at once": {"không rõ kết quả lần thử: gửi lại ngay", "尝试结果未知：立即重新发送"},
	"sent again at once on a new connection":               {"gửi lại ngay trên một kết nối mới", "立即在新连接上重新发送"},
	"cancelled by an operator":                             {"người vận hành đã hủy", "由运维人员取消"},
	"cancelled by the partner":                             {"đối tác đã hủy", "由合作伙伴取消"},
	"the endpoint answered 410 Gone twice in a row":        {"điểm nhận trả lời 410 Gone hai lần liên tiếp", "端点连续两次响应 410 Gone"},
	"no delivery has succeeded for 5 days and %s have failed": {
		"không có lượt gửi nào thành công trong 5 ngày và %s lượt đã thất bại", "5 天内没有一次投递成功，已有 %s 次失败"},
	"its endpoint was removed":            {"điểm nhận đã bị xóa", "端点已被删除"},
	"expired":                             {"đã quá thời hạn lưu giữ", "已超过保留期限"},
	"%s of the newest %s deliveries fail": {"%s trên %s lượt gửi mới nhất bị lỗi", "%s 次失败（最新 %s 次投递中）"},
}
