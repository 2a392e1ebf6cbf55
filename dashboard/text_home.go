package dashboard

// homeTexts are the texts of the portal's first page.
var homeTexts = texts{
	"How your notifications are doing.": {"Tình hình các thông báo của bạn.", "您的通知状况。"},
	"To your first notification":        {"Đến thông báo đầu tiên", "通往第一个通知"},
	"%d of %d steps done":               {"đã xong %d trên %d bước", "已完成 %d / %d 步"},
	"done":                              {"xong", "完成"},
	"Have a webhook secret":             {"Có khóa bí mật webhook", "拥有 webhook 密钥"},
	"It signs what you get. One was made with your account; you may make another at any time.": {
		"Khóa này ký những gì bạn nhận. Một khóa đã được tạo cùng tài khoản; bạn có thể tạo khóa khác bất cứ lúc nào.", "它为您收到的内容签名。创建账户时已生成一个；您可随时再建。"},
	"The URL that takes your notifications. What comes before waits for it.": {
		"URL nhận thông báo của bạn. Những gì đến trước sẽ chờ.", "接收您通知的 URL。在此之前的通知会等待它。"},
	"Send it a test": {"Gửi một thông báo thử", "发送测试"},
	"The test is signed like every notification, so your receiver can check it.": {
		"Thông báo thử được ký như mọi thông báo, nên bên nhận kiểm tra được.", "测试与所有通知一样签名，接收方可以验证。"},
	"Send a test":        {"Gửi thử", "发送测试"},
	"Answer it with 2xx": {"Trả lời bằng 2xx", "以 2xx 响应"},
	"Check the signature first; the page for that says what is wrong with one that does not verify.": {
		"Hãy kiểm tra chữ ký trước; trang kiểm tra cho biết sai ở đâu nếu chữ ký không khớp.", "请先验证签名；如未通过，验证页会说明问题所在。"},
	"Take your first notification": {"Nhận thông báo đầu tiên", "接收第一个通知"},
	"It comes by itself when something happens. The catalogue shows every type.": {
		"Nó tự đến khi có sự kiện. Danh mục cho thấy mọi loại.", "有事件发生时它会自动到来。目录列出所有类型。"},

	"The last 24 hours":                                                 {"24 giờ qua", "最近 24 小时"},
	"How your endpoints are is not known just now.":                     {"Hiện chưa biết tình trạng các điểm nhận.", "暂时无法得知端点状况。"},
	"You have no endpoint: notifications wait for one.":                 {"Bạn chưa có điểm nhận: thông báo đang chờ.", "您没有端点：通知在等待。"},
	"%d of %d endpoints fail. What is missed is tried again by itself.": {"%d trên %d điểm nhận bị lỗi. Những gì lỡ sẽ tự được gửi lại.", "%d / %d 个端点失败。错过的会自动重试。"},
	"%d of %d endpoints are switched off: what comes for them waits.":   {"%d trên %d điểm nhận đang tắt: những gì đến sẽ chờ.", "%d / %d 个端点已关闭：发往它们的内容会等待。"},
	"Every endpoint takes what it gets.":                                {"Mọi điểm nhận đều nhận tốt.", "所有端点接收正常。"},
	"Attempts that succeed":                                             {"Lần thử thành công", "成功的尝试"},
	"none yet":                                                          {"chưa có", "尚无"},
	"Waiting now":                                                       {"Đang chờ lúc này", "当前等待"},
	"Oldest waiting":                                                    {"Chờ lâu nhất", "等待最久"},
	"The newest that need attention":                                    {"Mới nhất cần chú ý", "最新需要关注的"},
	"Certificate ends":                                                  {"Chứng chỉ hết hạn", "证书到期"},
	"Attempts by outcome, last 24 hours":                                {"Lần thử theo kết quả, 24 giờ qua", "按结果统计的尝试，最近 24 小时"},
	"Hour, UTC":                                                         {"Giờ, UTC", "小时，UTC"},
}
