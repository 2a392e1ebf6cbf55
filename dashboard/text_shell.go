package dashboard

// shellTexts are the texts of the layout, the components and the error page.
var shellTexts = texts{
	"Home":               {"Trang chủ", "首页"},
	"Webhooks":           {"Webhook", "Webhook"},
	"Deliveries":         {"Lượt gửi", "投递"},
	"Endpoints":          {"Điểm nhận", "接收端点"},
	"Secrets":            {"Khóa bí mật", "密钥"},
	"Recover":            {"Khôi phục", "恢复"},
	"Develop":            {"Phát triển", "开发"},
	"Event types":        {"Loại sự kiện", "事件类型"},
	"Verify a signature": {"Kiểm tra chữ ký", "验证签名"},
	"Account":            {"Tài khoản", "账户"},
	"People":             {"Thành viên", "成员"},
	"Activity":           {"Hoạt động", "操作记录"},
}
