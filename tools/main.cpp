#include "sim/run.hpp"
#include "sim/error.hpp"
#include "sim/compare.hpp"
#include <iostream>
using namespace trainyard;
int main(int c,char**v){ try{ std::vector<LoadedScenario> l; LoadOptions o; for(int i=1;i<c;++i){ std::string a=v[i]; if(a.rfind("--set=",0)==0) o.sets.push_back(a.substr(6)); }
 for(int i=1;i<c;++i){ std::string a=v[i]; if(a[0]!='-') l.push_back(load_scenario(a,o)); }
 auto r=run_scenarios(l); for(auto&x:r){ std::cout<<dump_json(x.at("metrics")); if(auto p=x.find("collectives")) std::cout<<dump_json(*p,-1)<<"\n"; if(auto p=x.find("probes")) std::cout<<dump_json(*p,-1)<<"\n"; if(auto p=x.find("jobs")) std::cout<<dump_json(*p,-1)<<"\n"; } }
 catch(const std::exception&e){ std::cerr<<e.what()<<"\n"; return 3;} }
