package dashboard

// deliveriesTexts are the texts of the pages about deliveries.
var deliveriesTexts = texts{
	"%s new": {"%s mới", "%s 条新记录"},
	"%s: must be a time in UTC like 14:00, 2026-01-31, 2026-01-31T14:00, or an age like 30m, 24h or 7d.": {
		"%s: phải là thời điểm UTC như 14:00, 2026-01-31, 2026-01-31T14:00, hoặc khoảng thời gian trước đây như 30m, 24h hay 7d.",
		"%s: 必须是 UTC 时间，如 14:00、2026-01-31、2026-01-31T14:00，或 30m、24h、7d 这样的时长。"},
	"%s: needs a value after the colon.": {"%s: cần một giá trị sau dấu hai chấm.", "%s: 冒号后需要一个值。"},
	"%s: stands twice. Put several values behind one, with commas between.": {
		"%s: xuất hiện hai lần. Hãy ghi nhiều giá trị sau một khóa, cách nhau bằng dấu phẩy.", "%s: 出现了两次。请把多个值写在同一个键后，用逗号分隔。"},
	"%s: there is no “%s”. It takes: %s.":                 {"%s: không có “%s”. Các giá trị: %s.", "%s: 没有“%s”。可用的值：%s。"},
	"“%s” is not something to search by. Use one of: %s.": {"Không thể tìm theo “%s”. Hãy dùng một trong: %s.", "不能按“%s”搜索。请使用：%s。"},
	"since: must be before until:.":                       {"since: phải trước until:.", "since: 必须早于 until:。"},
	"The search holds characters that cannot be typed.":   {"Nội dung tìm kiếm chứa ký tự không thể gõ.", "搜索内容包含无法输入的字符。"},
	"The search is too long: %d characters at most.":      {"Nội dung tìm kiếm quá dài: tối đa %d ký tự.", "搜索内容过长：最多 %d 个字符。"},
	"attempts: must be a number from 1, or a range like >3, <=5 or 2..4.": {
		"attempts: phải là một số từ 1, hoặc khoảng như >3, <=5 hay 2..4.", "attempts: 必须是从 1 开始的数字，或 >3、<=5、2..4 这样的范围。"},
	"code: must be a status code like 503 or a class like 5xx.":  {"code: phải là mã trạng thái như 503 hoặc nhóm như 5xx.", "code: 必须是 503 这样的状态码或 5xx 这样的类别。"},
	"delay: must be a least time to the first attempt like >5s.": {"delay: phải là thời gian tối thiểu đến lần thử đầu, như >5s.", "delay: 必须是首次尝试的最短延迟，如 >5s。"},
	"duration: must be a range like >2s, <500ms or 1s..5s.":      {"duration: phải là khoảng như >2s, <500ms hay 1s..5s.", "duration: 必须是 >2s、<500ms、1s..5s 这样的范围。"},

	"Views": {"Chế độ xem", "视图"}, "Needs attention": {"Cần chú ý", "需要关注"}, "All": {"Tất cả", "全部"}, "Exhausted": {"Hết lượt thử", "重试用尽"},
	"Held": {"Tạm giữ", "已暂留"}, "Under way": {"Đang xử lý", "进行中"}, "Delivered": {"Đã gửi", "已送达"},
	"Search": {"Tìm kiếm", "搜索"}, "Search deliveries": {"Tìm lượt gửi", "搜索投递"}, "Filters": {"Bộ lọc", "筛选"}, "Apply": {"Áp dụng", "应用"},
	"any": {"bất kỳ", "任意"}, "Type": {"Loại", "类型"}, "Failure": {"Lỗi", "失败原因"}, "Trigger": {"Nguồn kích hoạt", "触发方式"},
	"Until": {"Đến", "截止"}, "Status code": {"Mã trạng thái", "状态码"}, "Attempts": {"Số lần thử", "尝试次数"},
	"Duration": {"Thời lượng", "耗时"}, "First delay": {"Độ trễ đầu", "首次延迟"}, "Reference": {"Tham chiếu", "参考号"}, "Host": {"Máy chủ", "主机"},
	"Partner": {"Đối tác", "合作伙伴"}, "Created": {"Tạo lúc", "创建时间"}, "Last result": {"Kết quả gần nhất", "最近结果"}, "Took": {"Mất", "耗时"},
	"Next attempt": {"Lần thử tiếp theo", "下次尝试"}, "Export CSV": {"Xuất CSV", "导出 CSV"},
	"Deliveries, newest first": {"Lượt gửi, mới nhất trước", "投递，最新在前"}, "Select": {"Chọn", "选择"}, "Select all rows": {"Chọn mọi dòng", "选择所有行"},
	"What the search finds, newest first.": {"Kết quả tìm kiếm, mới nhất trước.", "搜索结果，最新在前。"},
	"What needs attention: given up, retrying, held, or waiting for longer than it should.": {
		"Những gì cần chú ý: đã bỏ cuộc, đang thử lại, tạm giữ hoặc chờ lâu hơn bình thường.", "需要关注的投递：已放弃、重试中、已暂留，或等待过久。"},
	"Nothing found": {"Không tìm thấy gì", "没有找到"},
	"No delivery matches the search. Make it wider, or look at all.": {"Không có lượt gửi nào khớp. Hãy mở rộng tìm kiếm hoặc xem tất cả.", "没有匹配的投递。请放宽搜索或查看全部。"},
	"Nothing needs attention": {"Không có gì cần chú ý", "没有需要关注的内容"}, "Everything that was due is delivered.": {"Mọi thứ đến hạn đều đã gửi.", "所有到期的通知均已送达。"},
	"Replay selected…": {"Gửi lại mục đã chọn…", "重放所选…"}, "Replay all that match…": {"Gửi lại mọi mục khớp…", "重放所有匹配项…"},
	"Nothing is sent before you have seen what it would be.": {"Không có gì được gửi trước khi bạn xem trước.", "在您预览之前不会发送任何内容。"},
	"Searched back to": {"Đã tìm ngược đến", "已搜索至"}, "Go on with “Older”, or narrow the search.": {"Bấm “Cũ hơn” để tiếp tục, hoặc thu hẹp tìm kiếm.", "点击“更早”继续，或缩小搜索范围。"},

	"Delivery": {"Lượt gửi", "投递"}, "Retry now": {"Thử lại ngay", "立即重试"}, "Send again": {"Gửi lại", "再次发送"},
	"How it stands": {"Hiện trạng", "当前状况"}, "Facts": {"Thông tin", "基本信息"}, "Event": {"Sự kiện", "事件"}, "Endpoint": {"Điểm nhận", "接收端点"}, "open": {"mở", "打开"},
	"Sequence": {"Số thứ tự", "序号"}, "Repeats": {"Lặp lại", "重复自"}, "Ended": {"Kết thúc", "结束时间"}, "Waits for": {"Đang chờ", "正在等待"},
	"About the receiver": {"Về bên nhận", "关于接收方"}, "Its newest answers give no cause for advice.": {"Các phản hồi gần đây không có gì cần lưu ý.", "最近的响应没有需要提醒之处。"},
	"Send it again by hand": {"Tự gửi lại", "手动重新发送"},
	"The time and signature are those of the newest attempt: a receiver may find them too old.": {
		"Thời gian và chữ ký là của lần thử mới nhất: bên nhận có thể cho là quá cũ.", "时间和签名取自最近一次尝试：接收方可能认为已过期。"},
	"No attempt yet": {"Chưa có lần thử nào", "尚无尝试"}, "The request and the answer of each attempt appear here.": {"Yêu cầu và phản hồi của mỗi lần thử sẽ hiện ở đây.", "每次尝试的请求和响应会显示在这里。"},
	"certificate lasts %s": {"chứng chỉ còn hạn %s", "证书剩余 %s"}, "Signing key": {"Khóa ký", "签名密钥"},
	"Answer": {"Phản hồi", "响应"}, "There was no answer.": {"Không có phản hồi.", "没有响应。"}, "Body": {"Nội dung", "正文"},
	"Not text: %s, byte by byte.": {"Không phải văn bản: %s, từng byte.", "非文本：%s，逐字节显示。"}, "The answer was longer; its beginning is kept.": {"Phản hồi dài hơn; phần đầu được giữ lại.", "响应更长；仅保留开头部分。"},
	"Payload": {"Dữ liệu gửi", "负载"}, "shown without its signature": {"hiển thị không kèm chữ ký", "显示时不含签名"}, "The bytes as they are sent": {"Các byte đúng như khi gửi", "实际发送的字节"},
	"The event is past its retention and gone.":     {"Sự kiện đã hết thời hạn lưu giữ.", "事件已超过保留期限并被删除。"},
	"Compared with the last delivered of this type": {"So với lượt gửi thành công gần nhất cùng loại", "与最近送达的同类型投递比较"},
	"No other event of this type was delivered.":    {"Chưa có sự kiện nào khác cùng loại được gửi.", "没有送达过同类型的其他事件。"}, "There is no difference.": {"Không có khác biệt.", "没有差异。"},
	"Compared with": {"So với", "对比"}, "Field": {"Trường", "字段"}, "There": {"Bên đó", "对方"}, "Here": {"Ở đây", "此处"}, "other shape": {"khác cấu trúc", "结构不同"},
	"History": {"Lịch sử", "历史"}, "Other deliveries of the same event": {"Lượt gửi khác của cùng sự kiện", "同一事件的其他投递"}, "What it is": {"Quan hệ", "关系"},
	"Nobody has done anything with this delivery.": {"Chưa ai thao tác với lượt gửi này.", "尚无人操作过此投递。"},
	"to another endpoint":                          {"đến điểm nhận khác", "发往其他端点"}, "to the same endpoint": {"đến cùng điểm nhận", "发往同一端点"}, "repeats this one": {"lặp lại lượt này", "重复本次投递"}, "repeated by this one": {"được lượt này lặp lại", "被本次投递重复"},
	"It is due now and goes out as soon as nothing holds it back: it waits for %s.": {"Đã đến hạn và sẽ được gửi khi không còn gì cản: đang chờ %s.", "现已到期，不再受阻时立即发送：正在等待%s。"},
	"It is due now. The attempt appears here in a moment.":                          {"Đã đến hạn. Lần thử sẽ hiện ở đây ngay.", "现已到期。尝试稍后会显示在这里。"},
	"This is the new delivery of the same event.":                                   {"Đây là lượt gửi mới của cùng sự kiện.", "这是同一事件的新投递。"}, "It is cancelled. Nothing more is sent.": {"Đã hủy. Không gửi gì thêm.", "已取消。不再发送。"},
	"%s retried it": {"%s đã cho thử lại", "%s 立即重试了它"}, "%s sent it again, as %s": {"%s đã gửi lại, thành %s", "%s 重新发送了它，编号 %s"},
	"failed": {"thất bại", "失败"}, "outcome unknown": {"không rõ kết quả", "结果未知"}, "created": {"tạo", "已创建"}, "expected": {"dự kiến", "预计"},
	"Attempts over time": {"Các lần thử theo thời gian", "尝试时间线"}, "Where the time went": {"Thời gian đã dùng vào đâu", "时间分布"}, "Phase": {"Giai đoạn", "阶段"},
	"name lookup": {"tra tên", "域名解析"}, "connection": {"kết nối", "连接"}, "TLS": {"TLS", "TLS"}, "waiting for the answer": {"chờ phản hồi", "等待响应"}, "the rest": {"phần còn lại", "其余"},

	"host name not found": {"không tìm thấy tên máy chủ", "找不到主机名"}, "no connection": {"không kết nối được", "无法连接"}, "TLS failed": {"TLS thất bại", "TLS 失败"},
	"no answer in time": {"không phản hồi kịp", "未及时响应"}, "connection broke off": {"kết nối bị ngắt", "连接中断"}, "answer is not HTTP": {"phản hồi không phải HTTP", "响应不是 HTTP"},
	"answered %s, a redirect": {"phản hồi %s, chuyển hướng", "响应 %s，重定向"}, "answered %s": {"phản hồi %s", "响应 %s"}, "address not allowed": {"địa chỉ không được phép", "地址不允许"},
	"answered %s without acknowledging": {"phản hồi %s nhưng không xác nhận", "响应 %s 但未确认"}, "a fault of the gateway": {"lỗi của cổng", "网关故障"},
	"a worker": {"một tiến trình gửi", "工作进程"}, "room at the endpoint": {"chỗ trống ở điểm nhận", "端点空位"}, "the endpoint's rate limit": {"giới hạn tốc độ của điểm nhận", "端点速率限制"},
	"the next attempt": {"lần thử tiếp theo", "下次尝试"}, "the time the receiver asked for": {"thời điểm bên nhận yêu cầu", "接收方要求的时间"}, "the circuit breaker": {"bộ ngắt mạch", "熔断器"},
	"the endpoint to be resumed": {"điểm nhận được tiếp tục", "端点恢复"}, "the endpoint to be enabled": {"điểm nhận được bật", "端点启用"}, "an endpoint to be registered": {"một điểm nhận được đăng ký", "注册端点"},
	"an earlier one about the same subject": {"lượt trước về cùng đối tượng", "同一对象的前一次投递"},

	"no endpoint yet": {"chưa có điểm nhận", "尚无端点"},
	"Delivered to %s at the first attempt, %s after it was created.": {"Đã gửi đến %s ngay lần thử đầu, %s sau khi tạo.", "首次尝试即送达 %s，创建后 %s。"},
	"Delivered to %s at attempt %s, %s after it was created.":        {"Đã gửi đến %s ở lần thử %s, %s sau khi tạo.", "已送达 %s，第 %s 次尝试，创建后 %s。"},
	"Given up after %s attempts at %s. The last one: %s.":            {"Bỏ cuộc sau %s lần thử gửi đến %s. Lần cuối: %s.", "尝试 %s 次后放弃，目标 %s。最后一次：%s。"},
	"Cancelled before the first attempt. Nothing was sent to %s.":    {"Đã hủy trước lần thử đầu. Chưa gửi gì đến %s.", "首次尝试前已取消。没有向 %s 发送任何内容。"},
	"Cancelled after %s attempts at %s. The last one: %s.":           {"Đã hủy sau %s lần thử gửi đến %s. Lần cuối: %s.", "尝试 %s 次后取消，目标 %s。最后一次：%s。"},
	"Being sent to %s just now, attempt %s.":                         {"Đang gửi đến %s, lần thử %s.", "正在发送至 %s，第 %s 次尝试。"},
	"Not sent to %s yet. It waits for %s.":                           {"Chưa gửi đến %s. Đang chờ %s.", "尚未发送至 %s。正在等待%s。"},
	"Not sent to %s yet. It waits for %s, for %s more.":              {"Chưa gửi đến %s. Đang chờ %s, còn %s.", "尚未发送至 %s。正在等待%s，还需 %s。"},
	"Attempts at %s so far: %s. The last one: %s. It waits for %s.":  {"Số lần thử gửi đến %s: %s. Lần cuối: %s. Đang chờ %s.", "已尝试发送至 %s：%s 次。最后一次：%s。正在等待%s。"},
	"Attempts at %s so far: %s. The last one: %s. It waits for %s, for %s more.": {
		"Số lần thử gửi đến %s: %s. Lần cuối: %s. Đang chờ %s, còn %s.", "已尝试发送至 %s：%s 次。最后一次：%s。正在等待%s，还需 %s。"},

	"On the receiver's side": {"Ở phía bên nhận", "问题在接收方"}, "On the gateway's side": {"Ở phía cổng", "问题在网关"}, "Between the two": {"Giữa hai bên", "问题在两者之间"}, "Nobody's fault": {"Không phải lỗi của ai", "非任何一方的过错"},
	"A worker was stopped in the middle of the attempt. It is sent again at once; the receiver may get it twice and tells by webhook-id.": {
		"Tiến trình gửi bị dừng giữa chừng. Thông báo được gửi lại ngay; bên nhận có thể nhận hai lần và phân biệt bằng webhook-id.", "工作进程在尝试途中停止。通知会立即重发；接收方可能收到两次，可通过 webhook-id 区分。"},
	"It refuses the request. Check that it verifies the signature with the active secret and asks for no other credential.": {
		"Bên nhận từ chối. Hãy kiểm tra nó xác minh chữ ký bằng khóa đang dùng và không đòi chứng thực khác.", "接收方拒绝了请求。请检查它是否用当前密钥验证签名，且不要求其他凭证。"},
	"The URL does not take notifications. Check its path, and that it answers POST.": {"URL không nhận thông báo. Hãy kiểm tra đường dẫn và việc trả lời POST.", "该 URL 不接收通知。请检查路径，并确认它响应 POST。"},
	"It says that it is gone for good. A second time in a row disables the endpoint: register its successor.": {
		"Bên nhận báo đã ngừng hẳn. Lần thứ hai liên tiếp sẽ tắt điểm nhận: hãy đăng ký điểm thay thế.", "接收方表示已永久停用。连续第二次会禁用该端点：请注册新的端点。"},
	"It refuses the size of the request. Raise the limit of its web server.":                        {"Bên nhận từ chối vì kích thước. Hãy tăng giới hạn của máy chủ web.", "接收方因大小拒绝请求。请提高其 Web 服务器的限制。"},
	"It asks for fewer requests. Lower the endpoint's rate limit or raise what the receiver takes.": {"Bên nhận yêu cầu ít hơn. Hãy giảm giới hạn tốc độ hoặc tăng khả năng nhận.", "接收方要求减少请求。请降低端点速率限制或提高接收能力。"},
	"A proxy or web server answers in place of the application. Check that the application runs.":   {"Proxy hoặc máy chủ web trả lời thay ứng dụng. Hãy kiểm tra ứng dụng có chạy không.", "代理或 Web 服务器代替应用作出响应。请检查应用是否运行。"},
	"Look at the request and the answer below.":                                                     {"Hãy xem yêu cầu và phản hồi bên dưới.", "请查看下方的请求和响应。"},
	"Its host name does not lead to an address. Check the name and its DNS records.":                {"Tên máy chủ không dẫn đến địa chỉ nào. Hãy kiểm tra tên và bản ghi DNS.", "主机名无法解析到地址。请检查名称及其 DNS 记录。"},
	"Nothing takes the connection. Check that the receiver listens on the port and that no firewall is between.": {
		"Không có gì nhận kết nối. Hãy kiểm tra cổng lắng nghe và tường lửa.", "没有程序接受连接。请检查接收方是否监听该端口，以及中间有无防火墙。"},
	"TLS cannot be agreed on. Check the certificate: its names, its chain and when it ends.": {"Không thỏa thuận được TLS. Hãy kiểm tra chứng chỉ: tên, chuỗi và thời hạn.", "无法协商 TLS。请检查证书的名称、证书链和有效期。"},
	"It takes too long. Answer with 2xx first and work afterwards.":                          {"Mất quá nhiều thời gian. Hãy trả lời 2xx trước, xử lý sau.", "耗时过长。请先响应 2xx，再处理。"},
	"The connection broke off before the answer was there. Check for restarts, crashes and proxies with short timeouts.": {
		"Kết nối bị ngắt trước khi có phản hồi. Hãy kiểm tra việc khởi động lại, sự cố và proxy có thời hạn ngắn.", "响应到达前连接中断。请检查重启、崩溃以及超时过短的代理。"},
	"What it answers is not HTTP. Check that the port is the one of the web server.":       {"Phản hồi không phải HTTP. Hãy kiểm tra đúng cổng của máy chủ web.", "其响应不是 HTTP。请检查端口是否属于 Web 服务器。"},
	"Redirects are not followed. Register the URL that answers itself.":                    {"Không đi theo chuyển hướng. Hãy đăng ký URL trả lời trực tiếp.", "不跟随重定向。请注册直接响应的 URL。"},
	"It refuses the request. Its log says why; the answer is shown below.":                 {"Bên nhận từ chối. Nhật ký của nó nói lý do; phản hồi ở bên dưới.", "接收方拒绝了请求。其日志会说明原因；响应见下方。"},
	"It fails while it works on the request. Its log says why; the answer is shown below.": {"Bên nhận lỗi khi xử lý. Nhật ký của nó nói lý do; phản hồi ở bên dưới.", "接收方处理时出错。其日志会说明原因；响应见下方。"},
	"Its host name leads to an address that is not public. Register a public one, or have the operators allow the network.": {
		"Tên máy chủ dẫn đến địa chỉ không công khai. Hãy đăng ký địa chỉ công khai hoặc nhờ người vận hành cho phép mạng đó.", "主机名指向非公网地址。请注册公网地址，或请运维人员允许该网络。"},
	"It answers 2xx with success: false, or without JSON. The endpoint's ackMode asks for an acknowledgement in the body.": {
		"Bên nhận trả lời 2xx với success: false hoặc không có JSON. ackMode của điểm nhận đòi xác nhận trong nội dung.", "接收方响应 2xx 但 success: false，或没有 JSON。端点的 ackMode 要求在正文中确认。"},
	"The gateway could not send. It is tried again by itself; the operators see it on the system page.": {"Cổng không gửi được. Sẽ tự thử lại; người vận hành thấy điều này trên trang hệ thống.", "网关未能发送。会自动重试；运维人员可在系统页面看到。"},
}
