// The frame of the page: style, scripts and the policy under which a browser runs them.
#pragma once

#include <string>

namespace trainyard {

/// The whole page: title (text) and body (markup). Nothing comes from outside and only our own
/// scripts run: the page tells the browser to refuse everything else. The scripts are the same
/// bytes in every page; one without a chart does without them.
std::string page(const std::string& title, const std::string& body);

}  // namespace trainyard
